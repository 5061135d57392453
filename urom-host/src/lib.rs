//! Drive DOCA UROM workers from a Rust host program.
//!
//! A *service* finds *plugins* and runs *workers*, processes that load some of the plugins. A host
//! program connects to the service, starts workers, and submits *tasks* (commands of a plugin's
//! protocol) to them. Each task completes with the plugin's notification.
//!
//! ```no_run
//! use urom_host::{Service, block_on};
//!
//! fn main() -> urom_host::Result<()> {
//!     block_on(async {
//!         let service = Service::connect().await?;
//!         let graph = service.plugin::<graph_protocol::Protocol>()?;
//!         let worker = service.worker().id(0).plugin(&graph).start().await?;
//!         let done = graph.task_loopback(&worker, 42).await?;
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
//! | [`Domain`], [`DomainBuilder`], [`DomainBuffer`], [`gather::AllGather`] | `doca_urom_domain` |
//! | [`GroupQuery`] | `doca_urom_service_get_workers_by_gid_task` |
//! | [`ProgressEngine`] | `doca_pe` |
//! | [`Error`], [`DocaError`], [`DocaStatus`] | `doca_error_t` |
//!
//! # Waiting
//!
//! Every long operation is a future. `.wait()` and [`block_on`] run futures on the current thread:
//! they poll briefly, then sleep. The module `tokio` (feature `tokio`) does so in tokio. Other
//! executors work if something on their thread progresses the engines: see [`ProgressEngine`].
//!
//! `submit_with` of a generated task takes a callback instead of returning a future. The callback
//! runs inside the progress call that completes the task. It may submit further tasks; it cannot
//! wait. A panic in it continues in the caller of the progress.
//!
//! # Threads
//!
//! A progress engine, its workers and their tasks belong to one thread; the compiler checks this.
//! Several threads can use one service, each with its own workers and engine: see
//! [`ServiceHandle`].
//!
//! # Objects
//!
//! Objects may be dropped in any order: each keeps its dependencies alive, in DOCA's order of
//! destruction. The drop of a worker waits at most 0.1 s for it to stop; see [`Worker`].
//!
//! # Libraries
//!
//! The crate calls DOCA's C functions through a table ([`Library`]): this project's own library,
//! built in (feature `builtin`), or a `libdoca_urom.so` loaded at run time. When the program
//! connects, the first matching row decides:
//!
//! | setting | library |
//! | --- | --- |
//! | [`ServiceBuilder::library`], [`engine`](ServiceBuilder::engine) | that one |
//! | the variable `UROM_DOCA_LIBRARY` | that file, or the built-in one for the word `builtin` |
//! | the variable `DOCA_UROM_SERVICE_FILE` | the file below `/opt/mellanox/doca`, if it exists |
//! | nothing | the built-in one |
//!
//! So a program built and tested on a laptop runs unchanged on a host with a BlueField. There,
//! `DOCA_UROM_SERVICE_FILE` selects the DPU, and [`ServiceBuilder::device`] names the device to
//! reach it, which NVIDIA's library requires.
//!
//! [`ServiceBuilder::address`] and [`ServiceBuilder::embedded`] are not part of DOCA's interface.
//! They use the built-in library unless the first three rows name another; NVIDIA's refuses them
//! with `NOT_SUPPORTED`. Errors of NVIDIA's library contain only DOCA's code, without a reason.
//!
//! A library is never unloaded. [`Library::load`] lists usable releases and its caller's duties.
//!
//! # Features
//!
//! | feature | adds |
//! | --- | --- |
//! | `embedded` (default) | this project's library and the embedded service |
//! | `builtin` | this project's library, for the daemon `uromd`; no service |
//! | neither | no library: the build needs no UCX; a library is always loaded |
//! | `tokio` | waiting in tokio |
//! | `mpi` | the all-gather over MPI |
//! | `trace` | `trace`: the program's spans beside its commands, in one file; `builtin` |
//! | `test-util` | helpers for tests of plugins and host programs; `embedded` |
#![cfg_attr(
    not(feature = "builtin"),
    allow(rustdoc::broken_intra_doc_links, reason = "the built-in library is off")
)]

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
#[cfg(not(feature = "tokio"))]
mod tokio {
    pub(crate) fn begin_driving() {}
    pub(crate) fn end_driving() {}
    pub(crate) fn look_again(_cx: &std::task::Context<'_>) {}
}
#[cfg(feature = "trace")]
pub mod trace;
mod wait;
mod worker;

pub use context::ContextState;
/// The crate `mpi`, for [`gather::Mpi`].
#[cfg(feature = "mpi")]
pub use mpi;

pub use device::{DeviceInfo, devices, devices_of};
#[expect(deprecated, reason = "the old name of `DomainBuffer`")]
pub use domain::Buffer;
pub use domain::{Domain, DomainBuffer, DomainBuilder};
pub use engine::ProgressEngine;
pub use error::{Error, ErrorKind, Result};
pub use host::Host;
pub use id::worker_id;
pub use library::Library;
pub use pending::Pending;
pub use plugin::Plugin;
pub use service::{GroupQuery, GroupQueryHandle, Service, ServiceBuilder, ServiceHandle};
pub use task::{Completion, RawCompletion, RawTask, TaskHandle};
pub use urom_abi::WORKER_ID_ANY;
pub use urom_abi::cpu::CpuSet;
pub use urom_abi::{Data, Elements, Payload, Received, Registered};
pub use urom_abi::{DocaError, DocaStatus};
pub use wait::{block_on, block_on_for};
pub use worker::{Health, RawReply, Worker, WorkerBuilder};
