//! The graph plugin's messages once more, for the same plugin in C under a name of its own: two plugins of one name cannot be
//! in one service.

use urom_abi::{urom_command, urom_notification};

/// As `graph_protocol::Command`.
#[urom_command(plugin = "worker_graph_in_c", version = 1)]
pub enum Command {
    /// Asks for `data` back.
    #[urom(reply = LoopbackDone)]
    Loopback {
        /// Any value.
        data: u64,
    },
}

/// As `graph_protocol::Notification`.
#[urom_notification]
pub enum Notification {
    /// What a loopback carried.
    LoopbackDone {
        /// The command's.
        data: u64,
    },
}
