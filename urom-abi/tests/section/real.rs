//! A protocol with every feature, described by the macros.

use urom_abi::describe::section::{self, Build, Description, Panic};
use urom_abi::protocol::Protocol as _;
use urom_abi::{Data, Described, Elements, Received, urom_command, urom_notification};
use zerocopy::{Immutable, IntoBytes, TryFromBytes};

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

/// Bytes that nothing is said of.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, urom_abi::bytemuck::Pod, urom_abi::bytemuck::Zeroable)]
#[bytemuck(crate = "urom_abi::bytemuck")]
pub(crate) struct Opaque([u16; 3]);

/// How numbers are rounded.
#[derive(Clone, Copy, Debug, PartialEq, TryFromBytes, IntoBytes, Immutable, Described)]
#[repr(i16)]
pub(crate) enum Rounding {
    /// Downwards.
    Floor = -3,
    Ceil = 7,
}

const LEAST: i8 = -4;
const KEY: u32 = 12;
const NAME: &str = "no number";

fn is_named(name: &str, context: u64) -> bool {
    name.len() as u64 == context
}

#[urom_command(plugin = "worker_tiles", version = 7)]
#[derive(Debug)]
pub(crate) enum Command<'a> {
    /// Puts a tile.
    #[urom(reply = PutDone)]
    Put {
        #[urom(header, echo, optional)]
        context: u64,
        tile: Tile,
        #[urom(inline, unless = memory)]
        data: Data<'a>,
        #[urom(word)]
        memory: u64,
        #[urom(inline, addr = none, len = 2, when = context != 0)]
        pair: Option<Elements<'a, Tile>>,
    },
    #[urom(reply = Rounded)]
    Round {
        #[urom(header, echo, optional)]
        context: u64,
        how: Rounding,
        letter: char,
        on: bool,
        least: i8,
        opaque: Opaque,
        #[urom(inline)]
        text: &'a str,
        #[urom(inline, addr = none, len = KEY, when = least >= LEAST)]
        key: Option<&'a [u8]>,
        #[urom(inline, addr = none, len = text.len(), when = is_named(NAME, context))]
        again: Option<&'a [u8]>,
        #[urom(inline)]
        perhaps: Option<&'a [u8]>,
    },
}

#[urom_notification]
#[derive(Debug)]
pub(crate) enum Notification {
    #[urom(also = 4)]
    PutDone {
        #[urom(header, echo)]
        context: u64,
        #[urom(inline)]
        data: Received,
    },
    Rounded {
        #[urom(header, echo)]
        context: u64,
        total: f32,
    },
}

const BUILD: Build = Build { kit: "1.2.3", panic: Panic::Abort };

pub(crate) const TILES: Description = Description { protocol: Protocol::DESCRIPTION, build: BUILD };

pub(crate) const BYTES: [u8; section::len(Protocol::DESCRIPTION, &BUILD)] =
    section::array(Protocol::DESCRIPTION, &BUILD);
