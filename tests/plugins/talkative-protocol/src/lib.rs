//! Commands that make a plugin log.

use urom_abi::{urom_command, urom_notification};

/// What a test can ask of the talkative plugin.
#[urom_command(plugin = "worker_talkative", version = 1)]
#[derive(Debug, Clone, Copy)]
pub enum Command {
    /// Writes a line of each level through `urom_pdk::log`, `log` and `tracing`.
    #[urom(reply = Said)]
    SayAll {
        /// Stands in the lines.
        number: u64,
    },
    /// Writes a warning through `log` and `tracing` on a thread of the plugin's own.
    #[urom(reply = Said)]
    SayElsewhere {
        /// Stands in the lines.
        number: u64,
    },
    /// Fails with `NOT_FOUND`.
    #[urom(reply = Said)]
    Fail,
}

/// What the talkative plugin answers.
#[urom_notification]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notification {
    /// The lines are written.
    Said,
}
