//! A DOCA UROM service: the daemon and its workers.
//!
//! Three kinds of process run the program `uromd`:
//!
//! - the **daemon** (`daemon`) finds and numbers plugins, starts one worker for each worker id, and
//!   sends the workers' addresses to hosts. Commands bypass it;
//! - a **worker** (`worker`) loads its plugins, receives commands from hosts over rings or UCX,
//!   passes them to the plugins, and sends back the answers. It serves several hosts, and ends
//!   when the last host has left;
//! - an **examiner** ([`plugins::examine()`]) loads one file for the daemon and reports on it.
//!
//! Host programs use the crate `libdoca-host`, through `urom-host` or DOCA's C interface.
//!
//! All input from outside a process is checked: bytes, lengths, slots, a plugin's echo of a
//! command. Only a worker trusts a plugin's *code*, and crashes with it; a file that crashes its
//! examiner costs one log line. A plugin that does not arm its descriptors does not wake its
//! worker: the worker polls it up to a thousand times a second while answers are due, and twenty
//! times otherwise.
//!
//! [`embedded`] runs the same code on threads of the host's process. [`urom_wire`] contains the
//! messages between host, daemon and worker; `log` is the log of daemon and workers, [`urom_log`]
//! the log for C programs and plugins.

#![cfg_attr(not(feature = "operators"), allow(dead_code, reason = "operators use it"))]

#[macro_use]
mod log;

mod aside;
mod commands;
mod daemon;
pub mod embedded;
mod entrance;
mod examine;
mod freshness;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod handshakes;
mod hangup;
mod host_names;
mod identity;
mod inherited;
mod metrics;
#[cfg(feature = "operators")]
mod operator;
mod own_output;
mod plugin_elf;
mod plugin_file;
mod plugin_log;
mod process_one;
mod threads;
#[cfg(feature = "operators")]
mod top;
pub mod uromd;
mod worker;

pub use daemon::DaemonArgs;
pub use daemon::program::{CommandLine, OPTIONS};
#[doc(hidden)]
pub use hangup::remember_hangup_now;
pub use own_output::take_stdout;
pub use urom_log::export_doca_log;
pub use urom_wire::frame::{MAX_MAX_MESSAGE, MIN_MAX_MESSAGE};

/// The daemon's checks of plugin files, for tools that predict their result.
pub mod plugins {
    pub use urom_wire::control::PLUGIN_PATH_VARIABLE;

    pub use crate::daemon::plugin_path_entries;
    pub use crate::examine::{DEADLINE, Examined, Stage, Trouble, examine, this_program};
    pub use crate::freshness::{COPIES, list_of_copy, stale};
    pub use crate::plugin_elf::{
        Export, LookError, PluginElf, description, exports, look, plugin_name,
    };
    pub use crate::plugin_file::{Loaded, PluginFileError};
}

#[cfg(test)]
#[global_allocator]
static ALLOCATOR: urom_wire::fuzzing::Counting = urom_wire::fuzzing::Counting;
