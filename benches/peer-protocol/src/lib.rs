//! The commands with which the benchmark has a worker answer raw UCX messages for a while.

mod style;

use urom_abi::memory::MemoryRange;
use urom_abi::{urom_command, urom_notification};

pub use style::{Kind, MemoryAccess, Style};

/// Room for a UCX worker address.
pub const ADDRESS: usize = 1024;

/// What the benchmark's plugin can do.
#[urom_command(plugin = "worker_benchpeer", version = 1)]
pub enum Command {
    /// Starts a raw UCX worker of a kind, unless there is one; the answer holds its address.
    #[urom(reply = Prepared)]
    Prepare {
        /// The number under which it sends to hosts.
        number: u64,
        /// Its kind: its name in all other commands.
        kind: Kind,
    },
    /// Connects to another raw UCX worker. Hosts that ask are numbered in this order.
    #[urom(reply = Connected)]
    Connect {
        /// Its address.
        address: [u8; ADDRESS],
        /// The number of bytes of `address` that count.
        length: u64,
        /// Of which raw UCX worker.
        kind: Kind,
    },
    /// Serves raw UCX, and nothing else in this worker, until the first host's stop message comes.
    #[urom(reply = Served)]
    Serve {
        /// Which raw UCX worker serves.
        kind: Kind,
        /// How it serves.
        style: Style,
        /// The length of tag messages, in a style that has them.
        bytes: u64,
    },
    /// Tells a raw UCX worker of the memory to which it puts.
    #[urom(reply = Aimed)]
    Aim {
        /// Where the memory begins.
        address: u64,
        /// Its packed remote key.
        key: [u8; ADDRESS],
        /// The number of bytes of `key` that count.
        length: u64,
        /// Which raw UCX worker.
        kind: Kind,
    },
    /// Times the use of a host's memory within one handler, in turns with what it is compared with.
    #[urom(reply = Timed)]
    TimeMemory {
        /// The host's memory.
        memory: MemoryRange,
        /// What to time.
        access: MemoryAccess,
        /// The host's process, and where the memory begins there.
        process: u64,
        /// See `process`.
        address: u64,
        /// How often a round uses it, and how many rounds there are.
        times: u64,
        /// See `times`.
        rounds: u64,
    },
}

/// What it answers.
#[urom_notification]
#[expect(clippy::large_enum_variant, reason = "an address is sent once a launch, and never kept")]
pub enum Notification {
    /// The raw UCX worker runs.
    Prepared {
        /// Its address.
        address: [u8; ADDRESS],
        /// The number of bytes of `address` that count.
        length: u64,
    },
    /// It is connected.
    Connected {},
    /// The stop message came.
    Served {},
    /// It aims.
    Aimed {},
    /// The medians of the rounds, in picoseconds for each use.
    Timed {
        /// Through the kit.
        kit: u64,
        /// By what it is compared with.
        peer: u64,
    },
}
