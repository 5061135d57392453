//! What must hold for **any** bytes that come from another process: the bodies of the fuzz targets of host, daemon and
//! worker. Not part of the crate's interface: it is there for the feature `fuzzing` and for tests.
//!
//! A body drives the real receiving code, in this process and on this thread, and panics when something does not hold:
//! memory beyond a bound, a connection that is neither refused nor of use, a request without its one answer.

mod address;
mod control;
mod domain;
mod hello;
pub(crate) mod memory;
pub(crate) mod program;
pub(crate) mod recent;
#[cfg(test)]
mod seeds;
pub(crate) mod sent;
#[cfg(test)]
mod tests;

use std::io;

use tokio::io::Join;
use tokio::runtime::{Builder, Runtime};

pub use address::ucx_address;
pub use control::control_messages;
pub use domain::domain_table;
pub use hello::{greeting, hello};
pub use memory::Counting;

pub use crate::daemon::fuzzing::daemon;
pub use crate::library::fuzzing::{host_control, host_frames};
pub use crate::worker::control::fuzzing::worker_control;
pub use crate::worker::data::fuzzing::worker_frames;

/// What is done with an input.
pub type Body = fn(&[u8]);

/// Every target, and its body.
pub const ALL: [(&str, Body); 10] = [
    ("control_messages", control_messages),
    ("daemon", daemon),
    ("domain_table", domain_table),
    ("greeting", greeting),
    ("hello", hello),
    ("host_control", host_control),
    ("host_frames", host_frames),
    ("ucx_address", ucx_address),
    ("worker_control", worker_control),
    ("worker_frames", worker_frames),
];

/// A stream whose other end has said `theirs` and closed; what is written to it is kept.
fn stream(theirs: &[u8]) -> Join<&[u8], Vec<u8>> {
    tokio::io::join(theirs, Vec::new())
}

/// Makes what a thread makes once.
fn prepare() {
    now(async {});
}

/// Runs a future of the control thread's.
///
/// # Panics
/// When it waits: nothing here comes later.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    thread_local! {
        static RUNTIME: io::Result<Runtime> = Builder::new_current_thread().enable_time().build();
    }
    RUNTIME.with(|runtime| runtime.as_ref().expect("a runtime").block_on(future))
}
