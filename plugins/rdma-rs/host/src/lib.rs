//! DOCA RDMA's operations for host programs, carried out by their workers.
//!
//! The workers of two hosts move bytes between the memories of both hosts; neither host program
//! takes part. The names are DOCA's: `doca_rdma_task_write` is [`Rdma::write`].
//!
//! ```no_run
//! use rdma_host::{Rdma, RemoteMmap};
//! use urom_host::memory::{Access, Mmap};
//! use urom_host::{Result, Worker};
//!
//! // `exchange` passes bytes to the other end and gives its: by a socket, or MPI.
//! async fn write_to_the_other_end(worker: &Worker, exchange: fn(&[u8]) -> Vec<u8>) -> Result<()> {
//!     let access = Access::LOCAL_READ_WRITE | Access::RDMA_WRITE;
//!     let memory = Mmap::allocate(1 << 20, access)?;
//!
//!     // An instance, and its other end.
//!     let rdma = Rdma::builder(worker).permissions(Access::RDMA_WRITE).start().await?;
//!     let theirs = exchange(&rdma.export().await?);
//!     rdma.connect(&theirs).await?;
//!
//!     // The memory of both.
//!     let theirs = exchange(&rdma.export_mmap(&memory).await?);
//!     let remote = RemoteMmap::import(&rdma, &theirs).await?;
//!     rdma.write(memory.slice(..4096), remote.at(8192)).await?;
//!
//!     // An instance that is dropped ends the operations of its other end.
//!     exchange(b"done");
//!     Ok(())
//! }
//! ```
//!
//! | this crate | DOCA RDMA |
//! | --- | --- |
//! | [`Rdma`], [`Builder`] | `doca_rdma`, `doca_rdma_set_permissions`, `doca_ctx_start` |
//! | [`Rdma::export`], [`Rdma::connect`] | `doca_rdma_export`, `doca_rdma_connect` |
//! | [`Rdma::export_mmap`], [`RemoteMmap::import`] | `doca_mmap_export_rdma`, `doca_mmap_create_from_export` |
//! | [`Rdma::send`], [`Rdma::send_imm`], [`Rdma::receive`] | `doca_rdma_task_send`, `_send_imm`, `_receive` |
//! | [`Rdma::write`], [`Rdma::write_imm`], [`Rdma::read`] | `doca_rdma_task_write`, `_write_imm`, `_read` |
//! | [`Rdma::compare_swap`], [`Rdma::fetch_add`] | `doca_rdma_task_atomic_cmp_swp`, `_fetch_add` |
//! | [`Rdma::state`], [`Rdma::stop`], [`Rdma::start`] | `doca_ctx_get_state`, `doca_ctx_stop`, `doca_ctx_start` |
//!
//! The worker needs the plugin `worker_rdma`.

mod gate;
mod instance;
mod local;
mod operation;
mod registered;
mod remote;

pub use instance::{Builder, Failed, Rdma};
pub use local::{Destination, Source};
pub use operation::{Message, Operation};
#[doc(no_inline)]
pub use rdma_protocol::{Added, ReadDone, ReceiveDone, Sent, Swapped, Written};

/// The former name of [`ReceiveDone`].
#[deprecated(note = "renamed to `ReceiveDone`; `urom_host::Received` is another type")]
pub type Received = ReceiveDone;
pub use rdma_protocol::{Limits, Opcode, Protocol, State};
pub use remote::{RemoteAddress, RemoteMmap};

/// The former name of [`RemoteAddress`].
#[deprecated(note = "renamed to `RemoteAddress`")]
pub type RemotePlace = RemoteAddress;
