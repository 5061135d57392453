//! How the benchmark asks a worker to answer raw UCX messages for a while.

use urom_abi::{urom_command, urom_notification};

/// Room for a UCX worker address.
pub const ADDRESS: usize = 1024;

/// What the benchmark's plugin can do.
#[urom_command(plugin = "worker_benchpeer", version = 1)]
#[expect(clippy::large_enum_variant, reason = "an address is sent once a launch, and never kept")]
pub enum Command {
    /// Makes the plugin's raw UCX worker of a kind, unless it is there; the answer holds its address.
    #[urom(reply = Prepared)]
    Prepare {
        /// The number under which it sends to hosts.
        number: u64,
        /// The number of its kind, which all other commands name it by.
        kind: u64,
    },
    /// Connects to another raw UCX worker. Hosts that ask are numbered in this order.
    #[urom(reply = Connected)]
    Connect {
        /// Its address, as long as `length` says.
        address: [u8; ADDRESS],
        /// How many bytes of `address` count.
        length: u64,
        /// Which.
        kind: u64,
    },
    /// Answers raw requests, and nothing else in this worker, until the first host's raw stop message comes.
    #[urom(reply = Served)]
    Serve {
        /// Which.
        kind: u64,
        /// In which style.
        style: u64,
    },
    /// The same, and each request has it send so many bytes to whom it was connected second before it answers.
    #[urom(reply = Served)]
    Forward {
        /// How many.
        bytes: u64,
        /// Which.
        kind: u64,
    },
    /// The same with what came: each request is copied, and so many of its bytes behind the first few are sent on.
    #[urom(reply = Served)]
    Relay {
        /// How many bytes come before those.
        head: u64,
        /// How many.
        bytes: u64,
        /// Which.
        kind: u64,
    },
    /// Receives messages of up to so many bytes and tells the first host of each, until its raw stop message comes.
    #[urom(reply = Served)]
    Take {
        /// How many.
        bytes: u64,
        /// Which.
        kind: u64,
    },
    /// The same, and each is handed on to the first host: it is received into a block of the heap, and packed into a message.
    #[urom(reply = Served)]
    HandOn {
        /// How many.
        bytes: u64,
        /// Which.
        kind: u64,
    },
}

/// What it answers.
#[urom_notification]
#[expect(clippy::large_enum_variant, reason = "an address is sent once a launch, and never kept")]
pub enum Notification {
    /// The plugin's raw UCX worker is there.
    Prepared {
        /// Its address, as long as `length` says.
        address: [u8; ADDRESS],
        /// How many bytes of `address` count.
        length: u64,
    },
    /// It is connected.
    Connected {},
    /// The stop message came.
    Served {},
}
