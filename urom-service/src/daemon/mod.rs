//! The daemon: finds plugins, starts workers, and sends their addresses to hosts.

mod args;
mod background;
pub(crate) mod config;
pub(crate) mod descriptors;
pub(crate) mod discovery;
mod dispatch;
pub(crate) mod emulation;
mod environment;
mod event;
mod examiner;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod host;
mod keys;
mod launcher;
mod manager;
mod observatory;
mod observed;
mod operations;
mod path_entry;
mod process;
pub(crate) mod program;
mod registry;
mod request;
mod search;
mod server;
mod snapshot;
mod status;
mod supervisor;
mod tokens;
mod trust;
mod turns;

pub use args::DaemonArgs;
pub use discovery::entries as plugin_path_entries;
pub(crate) use launcher::Launcher;
pub(crate) use manager::Manager;
#[cfg(feature = "operators")]
pub(crate) use operations::{OperatorCommand, OperatorReply};
pub(crate) use server::serve;
#[cfg(feature = "operators")]
pub(crate) use status::ServiceStatus;
#[cfg(test)]
pub(crate) use status::{CommandStatus, WorkerStatus};
