//! Commands that make a plugin log.
#![allow(missing_docs, reason = "the crate is for tests: names describe the rest")]

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "worker_talkative", version = 1)]
#[derive(Debug, Clone, Copy)]
pub enum Command {
    /// Logs a line of each level through `log` and `tracing`.
    #[urom(reply = Said)]
    SayAll { number: u64 },
    /// Logs a warning through `log` and `tracing` on a separate thread.
    #[urom(reply = Said)]
    SayElsewhere { number: u64 },
    #[urom(reply = Said)]
    Fail,
    /// Logs its trace context within a span, and a line after a pause.
    #[urom(reply = Said)]
    SayInSpans,
}

#[urom_notification]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notification {
    Said,
}
