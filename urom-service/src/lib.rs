//! A DOCA UROM service: the daemon and its workers.
//!
//! Three kinds of process, all of them the program `uromd`:
//!
//! - the **daemon** (`daemon`) finds plugins and numbers them, starts one worker for each worker
//!   id, and tells hosts where the workers are. It sees no command;
//! - a **worker** (`worker`) loads the plugins it was told to, takes commands from hosts over
//!   rings or UCX, gives them to the plugins, and sends the answers back. One worker can serve
//!   several hosts, and ends when the last one has left;
//! - an **examiner** ([`plugins::examine()`]) loads one file for the daemon and tells what it is.
//!
//! Host programs talk to both through the crate `libdoca-host`: through `urom-host`, or through
//! DOCA's C interface.
//!
//! What comes from outside a process is checked and never believed: bytes, lengths, slots, a
//! plugin's echo of a command. A plugin's *code* is believed by its worker alone, which it takes
//! along when it crashes. A file that crashes its examiner costs a line of the log. The events of a
//! plugin that does not arm its descriptors wake no worker: it polls its plugins up to a thousand
//! times a second while they owe answers, and twenty times otherwise.
//!
//! [`embedded`] is the same daemon and worker code on threads of the host's process. [`urom_wire`]
//! is what host, daemon and worker say to each other; `log` is how daemon and workers say what
//! they do, and [`urom_log`] how C programs and plugins do.

#[macro_use]
mod log;

mod aside;
mod daemon;
pub mod embedded;
mod entrance;
mod examine;
mod freshness;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod hangup;
mod host_names;
mod identity;
mod inherited;
mod own_output;
mod plugin_elf;
mod plugin_file;
mod plugin_log;
mod process_one;
mod threads;
mod unproven;
pub mod uromd;
mod worker;

pub use daemon::{CommandLine, DaemonArgs, OPTIONS};
#[doc(hidden)]
pub use hangup::remember_hangup_now;
pub use own_output::take_stdout;
pub use urom_log::export_doca_log;
pub use urom_wire::frame::{MAX_MAX_MESSAGE, MIN_MAX_MESSAGE};

/// What the daemon does with plugins' files, for tools that tell beforehand what it will do.
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
