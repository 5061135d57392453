//! The graph plugin's commands and notifications: a loopback, as in DOCA's `worker_graph` sample.
//! Both sides use this crate: the plugin implements [`Handler`], a host sends commands through
//! [`Client`].

use urom_abi::{urom_command, urom_notification};

/// The commands of the graph plugin.
#[urom_command(plugin = "worker_graph", version = 1)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Requests `data` back.
    #[urom(reply = LoopbackDone)]
    Loopback {
        /// Any value.
        data: u64,
    },
}

/// The answers of the graph plugin.
#[urom_notification]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notification {
    /// Answers a loopback.
    LoopbackDone {
        /// The command's value.
        data: u64,
    },
}
