//! Drive DOCA UROM workers from a Rust host program.
//!
//! A *service* finds *plugins* and runs *workers*, processes that load some of the plugins. A host
//! program connects to the service, starts workers, and submits *tasks* to them: commands of a
//! plugin's protocol. Each completes with the plugin's notification.
//!
//! ```no_run
//! use urom_host::{Service, block_on};
//!
//! fn main() -> urom_host::Result<()> {
//!     let service = Service::connect()?;
//!     let graph = service.plugin::<graph_protocol::Protocol>()?;
//!     block_on(async {
//!         let worker = service.worker().id(0).plugin(&graph).start().await?;
//!         let done = graph.task_loopback(&worker, 42).submit()?.await?;
//!         assert_eq!(done.data, 42);
//!         worker.stop().await
//!     })
//! }
//! ```
//!
//! | | DOCA's counterpart |
//! | --- | --- |
//! | [`Service`], [`ServiceBuilder`], [`ServiceHandle`] | `doca_urom_service` |
//! | [`Plugin`] and the generated clients | `doca_urom_service_plugin_info` |
//! | [`Worker`], [`WorkerBuilder`] | `doca_urom_worker` |
//! | [`Completion`], [`RawTask`], [`RawCompletion`] | `doca_urom_worker_cmd_task` |
//! | [`Domain`], [`DomainBuilder`], [`Buffer`], [`gather::AllGather`] | `doca_urom_domain` |
//! | [`GroupQuery`] | `doca_urom_service_get_workers_by_gid_task` |
//! | [`ProgressEngine`] | `doca_pe` |
//! | [`Error`], [`DocaError`] | `doca_error_t` |
//!
//! # Waiting
//!
//! Everything that takes time is a future. `.wait()` and [`block_on`] run futures on the current
//! thread: they poll for a moment and then sleep. The module `tokio`, with the feature of that
//! name, does the same in tokio. Any other executor works as long as something on the same thread
//! progresses the engines, see [`ProgressEngine`].
//!
//! A task can have a callback in place of a future: `submit_with` of the generated task. The
//! callback runs inside the progress call that completes the task. It may submit further tasks; it
//! cannot wait. A panic in it does not cross the library: whoever called for progress gets it.
//!
//! # Threads
//!
//! A progress engine, its workers and their tasks belong to one thread, which the compiler checks.
//! Several threads can use one service, each with workers and an engine of its own: see
//! [`ServiceHandle`].
//!
//! # Objects
//!
//! Objects may be dropped in any order: each keeps what it needs, and DOCA's order of destruction
//! is kept. The drop of a worker waits for at most a tenth of a second until it stops; see
//! [`Worker`] for one that takes longer.
//!
//! # Libraries
//!
//! The crate calls DOCA's C functions through a table ([`Library`]). The table is that of this
//! project's own library, which is built in (the feature `builtin`), or that of a
//! `libdoca_urom.so` which is loaded at run time. When the program connects, the first of these
//! decides:
//!
//! | what is set | the library |
//! | --- | --- |
//! | [`ServiceBuilder::library`], [`engine`](ServiceBuilder::engine) | that one |
//! | the variable `UROM_DOCA_LIBRARY` | that file, or for the word `builtin` the built-in one |
//! | the variable `DOCA_UROM_SERVICE_FILE` | that below `/opt/mellanox/doca`, if it is there |
//! | nothing | the built-in one |
//!
//! So a program that was built and tested on a laptop runs unchanged on a host with a BlueField.
//! There `DOCA_UROM_SERVICE_FILE` says which DPU serves the host, and [`ServiceBuilder::device`]
//! names the device to reach it through, which NVIDIA's library demands.
//!
//! Two things are beyond DOCA's interface: [`ServiceBuilder::address`] and
//! [`ServiceBuilder::embedded`]. They use the built-in library unless the first three rows name
//! another one; NVIDIA's refuses them with `NOT_SUPPORTED`. Nor does NVIDIA's library give reasons
//! for failures: errors then have DOCA's code only.
//!
//! A library is never unloaded. [`Library::load`] lists the releases that can be used, and what
//! its caller vouches for.
//!
//! # Features
//!
//! | feature | the program has |
//! | --- | --- |
//! | `embedded` (default) | the library of this project and the embedded service |
//! | `builtin` | the library of this project, for the daemon `uromd`; no service |
//! | neither | no library: it needs no UCX to be built and always loads one |
//! | `tokio` | waiting in tokio |
//! | `mpi` | the all-gather over MPI |
//! | `test-util` | what tests of plugins and host programs need; `embedded` |
#![cfg_attr(
    not(feature = "builtin"),
    allow(rustdoc::broken_intra_doc_links, reason = "the built-in library is off")
)]

/// Implements `Debug` with those fields of a type that tell something.
macro_rules! debug_fields {
    ($(<$generic:ident>)? $name:ident, |$it:pat_param| { $($field:ident: $value:expr),* }) => {
        impl $(<$generic>)? std::fmt::Debug for $name $(<$generic>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let $it = self;
                f.debug_struct(stringify!($name))
                    $(.field(stringify!($field), &$value))*
                    .finish_non_exhaustive()
            }
        }
    };
}

mod callback;
mod context;
mod device;
mod domain;
mod engine;
mod error;
pub mod gather;
mod host;
mod id;
mod library;
pub mod memory;
mod owner;
mod pending;
mod plugin;
mod service;
mod task;
#[cfg(feature = "test-util")]
pub mod test_util;
#[cfg(feature = "tokio")]
pub mod tokio;
/// Without tokio, nothing is awaited in it.
#[cfg(not(feature = "tokio"))]
mod tokio {
    pub(crate) fn begin_driving() {}
    pub(crate) fn end_driving() {}
    pub(crate) fn look_again(_cx: &std::task::Context<'_>) {}
}
mod wait;
mod worker;

pub use context::ContextState;
/// The crate that [`gather::Mpi`] is made with.
#[cfg(feature = "mpi")]
pub use mpi;

pub use device::{DeviceInfo, devices, devices_of};
pub use domain::{Buffer, Domain, DomainBuilder};
pub use engine::ProgressEngine;
pub use error::{Error, Result};
pub use host::Host;
pub use id::worker_id;
pub use library::Library;
pub use pending::Pending;
pub use plugin::Plugin;
pub use service::{GroupQuery, GroupQueryHandle, Service, ServiceBuilder, ServiceHandle};
pub use task::{Completion, RawCompletion, RawTask, TaskHandle};
pub use urom_abi::DocaError;
pub use urom_abi::WORKER_ID_ANY;
pub use urom_abi::cpu::CpuSet;
pub use urom_abi::{Data, Elements, Payload, Received, Registered};
pub use wait::{block_on, block_on_for};
pub use worker::{Health, RawReply, Worker, WorkerBuilder};
