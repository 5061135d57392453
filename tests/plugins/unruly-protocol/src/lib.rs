//! Commands that make a plugin leak and panic.
#![allow(missing_docs, reason = "the crate is for tests: names describe the rest")]

use urom_abi::{urom_command, urom_notification};

/// Environment variable with the methods that panic: `open`, `address`, `progress` and `close`,
/// with any separator.
pub const PANICS: &str = "UNRULY_PANICS";

#[urom_command(plugin = "worker_unruly", version = 1)]
#[derive(Debug, Clone, Copy)]
pub enum Command {
    #[urom(reply = Kept)]
    Keep { data: u64 },
    /// Panics before the first wait, during command delivery.
    #[urom(reply = Kept)]
    PanicAtOnce,
    /// Panics after the first wait, during progress.
    #[urom(reply = Kept)]
    PanicLater,
    /// Answers, then panics while its future is dropped.
    #[urom(reply = Kept)]
    PanicAfterwards,
    /// Never ends, and panics when it is cancelled.
    #[urom(reply = Kept)]
    PanicWhenCancelled,
    #[urom(reply = Kept)]
    Leak { bytes: u64 },
}

#[urom_notification]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notification {
    Kept {
        /// The data of `Keep`; otherwise the number of leaked bytes.
        data: u64,
    },
}
