//! The messages between a host and the plugin. Both sides use this crate: the plugin implements
//! [`Handler`], a host sends commands through [`Client`].

use urom_abi::{Elements, urom_command, urom_notification};

/// What a host can ask.
///
/// Raise `version` with every change of a command or a notification: NVIDIA's service compares
/// nothing else.
#[urom_command(plugin = "worker_example", version = 1)]
#[derive(Debug, Clone, Copy)]
pub enum Command<'a> {
    /// Adds values to the running sum.
    #[urom(reply = Accumulated)]
    Accumulate {
        /// Any number of them; they travel behind the command.
        #[urom(inline)]
        values: Elements<'a, f64>,
    },
}

/// What the plugin answers.
#[urom_notification]
#[derive(Debug, Clone, PartialEq)]
pub enum Notification {
    /// The running sum after a command's values were added to it.
    Accumulated {
        /// The sum of all values so far.
        sum: f64,
        /// How many these were.
        count: u64,
    },
}
