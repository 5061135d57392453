//! How the benchmark asks a worker to answer raw UCX messages for a while.

use urom_abi::{urom_command, urom_notification};

/// Room for a UCX worker address.
pub const ADDRESS: usize = 1024;

/// What the benchmark's plugin can do.
#[urom_command(plugin = "worker_benchpeer", version = 1)]
#[expect(clippy::large_enum_variant, reason = "an address is sent once a launch, and never kept")]
pub enum Command {
    /// Makes the plugin's raw UCX worker; the answer holds its address.
    #[urom(reply = Prepared)]
    Prepare {},
    /// Connects to the host's raw UCX worker.
    #[urom(reply = Connected)]
    Connect {
        /// Its address, as long as `length` says.
        address: [u8; ADDRESS],
        /// How many bytes of `address` count.
        length: u64,
    },
    /// Answers raw requests, and nothing else in this worker, until the raw stop message comes.
    #[urom(reply = Served)]
    Serve {},
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
