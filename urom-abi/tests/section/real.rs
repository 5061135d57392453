//! A protocol as the macros describe it, with a bit of everything.

use urom_abi::describe::section::{self, Build, Description, Panic};
use urom_abi::protocol::Protocol as _;
use urom_abi::{Data, Described, Elements, Received, urom_command, urom_notification};

/// Where a tile lies.
#[repr(C)]
#[derive(
    Clone, Copy, Debug, PartialEq, urom_abi::bytemuck::Pod, urom_abi::bytemuck::Zeroable, Described,
)]
#[bytemuck(crate = "urom_abi::bytemuck")]
pub(crate) struct Tile {
    /// Column and row.
    at: [u32; 2],
    weight: f64,
}

#[urom_command(plugin = "worker_tiles", version = 7)]
#[derive(Debug)]
pub(crate) enum Command<'a> {
    /// Puts a tile.
    #[urom(reply = PutDone)]
    Put {
        #[urom(echo)]
        context: u64,
        tile: Tile,
        #[urom(inline, unless = memory)]
        data: Data<'a>,
        #[urom(word)]
        memory: u64,
        #[urom(inline, addr = none, len = 2, when = context != 0)]
        pair: Option<Elements<'a, Tile>>,
    },
}

#[urom_notification]
#[derive(Debug)]
pub(crate) enum Notification {
    #[urom(also = 4)]
    PutDone {
        #[urom(echo)]
        context: u64,
        #[urom(inline)]
        data: Received,
    },
}

const BUILD: Build = Build { kit: "1.2.3", panic: Panic::Abort };

/// What the bytes say.
pub(crate) const TILES: Description = Description { protocol: Protocol::DESCRIPTION, build: BUILD };

/// The bytes, as the compiler makes them.
pub(crate) const BYTES: [u8; section::len(Protocol::DESCRIPTION, &BUILD)] =
    section::array(Protocol::DESCRIPTION, &BUILD);
