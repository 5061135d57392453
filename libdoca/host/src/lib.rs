//! The host library: DOCA's C interface as the table [`api`].
//!
//! A progress engine (`pe`) with its contexts and tasks belongs to one thread at a time and does
//! not hold locks. The process's control thread serves all streams to daemons and workers, with
//! their heartbeats. Threads share only a mailbox for each engine.

/// Logs a line at a level, such as `warn`, for the backends of `doca_log`.
macro_rules! log {
    ($level:ident, $($text:tt)+) => {
        tracing::$level!(target: "urom_library", $($text)+)
    };
}

mod address;
mod buf;
mod channels;
mod control_thread;
mod daemon_link;
mod device;
mod embedded;
mod event;
mod exchange;
mod failure;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod handle;
mod map;
mod memory;
mod memory_thread;
mod pe;
mod running;
mod service_file;
mod sharing;
mod socket;
mod stream;
mod table;
#[doc(hidden)]
pub mod trace;
mod worker_link;

pub use table::{API, MEMORY, api, task_release};

#[cfg(test)]
#[global_allocator]
static ALLOCATOR: urom_wire::fuzzing::Counting = urom_wire::fuzzing::Counting;
