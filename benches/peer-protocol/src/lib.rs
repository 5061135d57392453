//! Commands that make a worker answer raw UCX messages for a while.

mod style;

use urom_abi::memory::MemoryRange;
use urom_abi::{urom_command, urom_notification};

pub use style::{Kind, MemoryAccess, Style};

/// Buffer size for a UCX worker address.
pub const ADDRESS: usize = 1024;

/// Commands of the benchmark's plugin.
#[urom_command(plugin = "worker_benchpeer", version = 1)]
pub enum Command {
    /// Starts a raw UCX worker of a kind, unless it exists; the answer contains its address.
    #[urom(reply = Prepared)]
    Prepare {
        /// Number that identifies it to hosts.
        number: u64,
        /// Its kind, which identifies it in all other commands.
        kind: Kind,
    },
    /// Connects to another raw UCX worker. The order of these commands numbers the hosts.
    #[urom(reply = Connected)]
    Connect {
        /// Its address.
        address: [u8; ADDRESS],
        /// Used bytes of `address`.
        length: u64,
        /// The connecting raw UCX worker.
        kind: Kind,
    },
    /// Serves raw UCX, and nothing else in this worker, until the first host's stop message.
    #[urom(reply = Served)]
    Serve {
        /// The serving raw UCX worker.
        kind: Kind,
        /// Style of the service.
        style: Style,
        /// Length of tag messages, if the style has them.
        bytes: u64,
    },
    /// Sets the memory that a raw UCX worker puts to.
    #[urom(reply = Aimed)]
    Aim {
        /// Address of the memory.
        address: u64,
        /// Its packed remote key.
        key: [u8; ADDRESS],
        /// Used bytes of `key`.
        length: u64,
        /// The raw UCX worker.
        kind: Kind,
    },
    /// Times the use of a host's memory within one handler, in turns with a peer.
    #[urom(reply = Timed)]
    TimeMemory {
        /// The host's memory.
        memory: MemoryRange,
        /// The timed access.
        access: MemoryAccess,
        /// The host's process, and the memory's address there.
        process: u64,
        /// See `process`.
        address: u64,
        /// Uses in a round, and number of rounds.
        times: u64,
        /// See `times`.
        rounds: u64,
    },
}

/// Answers of the benchmark's plugin.
#[urom_notification]
#[expect(clippy::large_enum_variant, reason = "an address is sent once a launch, and never kept")]
pub enum Notification {
    /// The raw UCX worker runs.
    Prepared {
        /// Its address.
        address: [u8; ADDRESS],
        /// Used bytes of `address`.
        length: u64,
    },
    /// The workers are connected.
    Connected {},
    /// The stop message came.
    Served {},
    /// The memory is set.
    Aimed {},
    /// Medians of the rounds, in picoseconds for each use.
    Timed {
        /// Through the kit.
        kit: u64,
        /// Through the peer.
        peer: u64,
    },
}
