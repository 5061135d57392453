//! Commands that make a plugin leak and panic.
#![allow(missing_docs, reason = "the crate is for tests: names say the rest")]

use urom_abi::{urom_command, urom_notification};

/// The variable of the worker's environment that names the methods that panic: `open`, `address`,
/// `progress` and `close`, with anything between them.
pub const PANICS: &str = "UNRULY_PANICS";

#[urom_command(plugin = "worker_unruly", version = 1)]
#[derive(Debug, Clone, Copy)]
pub enum Command {
    #[urom(reply = Kept)]
    Keep { data: u64 },
    /// Panics before anything is waited for: while commands are delivered.
    #[urom(reply = Kept)]
    PanicAtOnce,
    /// Panics after something was waited for: while the plugin is progressed.
    #[urom(reply = Kept)]
    PanicLater,
    /// Ends with a value, and panics while its future is taken apart.
    #[urom(reply = Kept)]
    PanicAfterwards,
    /// Never ends, and panics when it is given up.
    #[urom(reply = Kept)]
    PanicWhenGivenUp,
    /// Takes memory and never gives it back.
    #[urom(reply = Kept)]
    Leak { bytes: u64 },
}

#[urom_notification]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notification {
    Kept {
        /// What was sent with `Keep`, else what was leaked so far, in bytes.
        data: u64,
    },
}
