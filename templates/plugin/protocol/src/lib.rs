//! The messages between a host and the plugin. Both sides use this crate: the plugin implements
//! [`Handler`], a host sends commands through [`Client`].

use urom_abi::{Elements, urom_command, urom_notification};

/// The commands of a host.
///
/// Raise `version` with every change of a command or a notification, because NVIDIA's service
/// compares only the version.
#[urom_command(plugin = "worker_example", version = 1)]
#[derive(Debug, Clone, Copy)]
pub enum Command<'a> {
    /// Adds values to the running sum.
    #[urom(reply = Accumulated)]
    Accumulate {
        /// Any number of values, sent after the command.
        #[urom(inline)]
        values: Elements<'a, f64>,
    },
}

/// The answers of the plugin.
#[urom_notification]
#[derive(Debug, Clone, PartialEq)]
pub enum Notification {
    /// The running sum, including the command's values.
    Accumulated {
        /// The sum of all values so far.
        sum: f64,
        /// The number of values.
        count: u64,
    },
}
