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
//! | [`Plugin`] and the generated clients | `doca_urom_service_plugin_info`, the host half of a C plugin |
//! | [`Worker`], [`WorkerBuilder`] | `doca_urom_worker` |
//! | [`Completion`], [`RawTask`], [`RawCompletion`] | `doca_urom_worker_cmd_task` |
//! | [`Domain`], [`DomainBuilder`], [`Buffer`], [`gather::AllGather`] | `doca_urom_domain` |
//! | [`GroupQuery`], [`GroupQueryHandle`] | `doca_urom_service_get_workers_by_gid_task` |
//! | [`ProgressEngine`] | `doca_pe` |
//! | [`Error`], [`DocaError`] | `doca_error_t` |
//!
//! # Waiting
//!
//! Everything that takes time is a future. `.wait()` and [`block_on`] run futures on the current
//! thread; they poll for a moment and then sleep. With the feature `tokio`, the module `tokio` has
//! the same for futures in tokio. Any other executor works as long as something on the same thread
//! progresses the engines: see [`ProgressEngine`]. A task can have a callback in place of a future:
//! `submit_with` of the generated task. What C passes along as a cookie, the closure captures. It
//! runs inside the progress call that completes the task, where it may submit further tasks and may
//! not wait. A panic in it does not cross the library: it goes on in whoever called for progress.
//!
//! # Threads
//!
//! A progress engine, its workers and their tasks belong to one thread, and the compiler holds
//! programs to that. Several threads each have workers and an engine of their own on one service:
//! see [`ServiceHandle`].
//!
//! # Objects
//!
//! Objects may be dropped in any order: each keeps what it needs, and DOCA's order (domains, tasks,
//! workers, service, engine, device) is kept underneath. A drop waits for a tenth of a second at
//! most for a worker to stop, and leaves it to its engine otherwise. When that has no other user,
//! the last drop waits; only a worker that does not stop within ten seconds after it was dropped
//! stays behind then, with a warning (a [`tracing`] event).
//!
//! # Libraries
//!
//! All of this stands on a table of DOCA's C functions ([`Library`]): those that this project's own
//! service builds in (the default feature `builtin`), or those of a `libdoca_urom.so` that is
//! loaded at run time. The program is the same, and so is this crate. Which one it is, is decided
//! when the program connects, by the first of these that says it:
//!
//! | | |
//! | --- | --- |
//! | [`ServiceBuilder::library`], [`with_library`](ServiceBuilder::with_library), or [`engine`](ServiceBuilder::engine) | a file, a [`Library`], or that of the engine |
//! | the variable `UROM_DOCA_LIBRARY` | the path of a `libdoca_urom.so`, or the word `builtin` |
//! | the variable `DOCA_UROM_SERVICE_FILE` is set, and DOCA is installed | its `libdoca_urom.so`, below `/opt/mellanox/doca` |
//! | nothing | the built-in one |
//!
//! So a program that was built and tested on a laptop runs on a host with a BlueField as it is:
//! there, `DOCA_UROM_SERVICE_FILE` says which DPU serves the host, and [`ServiceBuilder::device`]
//! names the device to reach it through, which NVIDIA's library demands. Two things are beyond
//! DOCA's interface: [`ServiceBuilder::address`] and [`ServiceBuilder::embedded`] with
//! [`plugin_path`](ServiceBuilder::plugin_path). They pass over the third row and take the built-in
//! library, unless the first two name another; NVIDIA's gives `NOT_SUPPORTED`. Nor does NVIDIA's
//! library give reasons for failures, so errors have DOCA's code and no more.
//!
//! What was loaded is never unloaded. [`Library::load`] says which releases can be used, and what
//! it means to trust a file. Without the feature `builtin`, a program needs no UCX to be built, and
//! always loads its library.
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
mod owner;
mod plugin;
mod service;
mod task;
#[cfg(feature = "test-util")]
pub mod test_util;
#[cfg(feature = "tokio")]
pub mod tokio;
mod wait;
mod worker;

pub use context::State;
/// The crate that [`gather::Mpi`] is made with.
#[cfg(feature = "mpi")]
pub use mpi;

pub use device::{DeviceInfo, devices, devices_of};
pub use domain::{Buffer, Domain, DomainBuilder, StartingDomain};
pub use engine::ProgressEngine;
pub use error::{Error, Result};
pub use host::Host;
pub use id::worker_id;
pub use library::Library;
pub use plugin::Plugin;
pub use service::{GroupQuery, GroupQueryHandle, Service, ServiceBuilder, ServiceHandle};
pub use task::{Completion, RawCompletion, RawTask, Rejected, TaskHandle};
pub use urom_abi::DocaError;
pub use urom_abi::WORKER_ID_ANY;
pub use urom_abi::cpu::CpuSet;
pub use urom_abi::{Data, Elements, Payload, Received, Registered};
pub use wait::{block_on, block_on_for};
pub use worker::{Answer, Health, Starting, Stopping, Worker, WorkerBuilder};
