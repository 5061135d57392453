//! Safe UCX: contexts, workers, endpoints, active messages, tags, memory.
//!
//! A [`Context`] selects features and transports. A [`Worker`] drives all progress. An [`Endpoint`]
//! is a connection of a worker. A [`Request`] is a future of an operation that owns its buffer.
//!
//! The crate needs UCX 1.16 or newer, which `ucx-probe` finds for the build. The build script of a
//! program or a shared object calls `ucx_probe::emit_rpath` to find UCX at run time too.
//!
//! ```no_run
//! use ucx::{Context, AmData, Features};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let context = Context::builder(Features::AM).config("TLS", "tcp,shm,self").build()?;
//! let worker = context.worker()?;
//! worker.set_am_handler(1, |message| {
//!     if let AmData::Eager(bytes) = message.data {
//!         println!("{} bytes, where UCX received them", bytes.len());
//!     }
//! })?;
//!
//! let client = Context::new(Features::AM)?.worker()?;
//! let endpoint = client.connect(&worker.address()?)?;
//! let request = endpoint.am_send(1, b"header", vec![0; 64]);
//! while !request.is_done() {
//!     client.progress();
//!     worker.progress();
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Rules
//! - A worker and its objects stay on one thread. Each thread makes its own [`Context`].
//! - [`Worker::progress`] calls handlers, hooks and wakers; [`Worker::arm`] the hooks of endpoints
//!   whose peer left a [`Mesh`]. `progress` resumes a handler's panic; no panic crosses C.
//! - A [`Status`] from C may be any byte. UCX does not defend against a malicious peer, so calls
//!   with addresses, keys and handles of other processes are `unsafe`: the caller vouches for them.
//! - In the steady state, sending, receiving, waking and progressing allocate nothing.

/// Implements `Debug` for a handle with selected fields.
macro_rules! debug_fields {
    ($(<$($generic:tt),*>)? $name:ty, |$it:pat_param| { $($field:ident: $value:expr),* }) => {
        impl $(<$($generic),*>)? std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let $it = self;
                f.debug_struct(stringify!($name))
                    $(.field(stringify!($field), &$value))*
                    .finish_non_exhaustive()
            }
        }
    };
}

mod address;
mod am;
mod atomic;
mod borrow;
mod buffer;
mod context;
mod descriptors;
mod endpoint;
mod features;
mod flush;
mod fork;
mod handler_table;
mod handlers;
mod held_buffer;
mod imported;
mod inner;
mod memory;
mod mesh;
mod outside;
mod peer;
mod queues;
mod ranges;
mod rendezvous;
mod request;
mod rma;
mod sealed;
mod settings;
mod slot;
mod stable;
mod status;
mod tag;
#[cfg(any(test, feature = "test-util"))]
#[doc(hidden)]
pub mod test_queues;
mod threads;
mod transports;
mod variables;
mod version;
mod watch;
mod worker;

pub use address::WorkerAddress;
#[expect(deprecated, reason = "the former name of `AmData`")]
pub use am::Data;
pub use am::{AmData, AmFlags, Message, Reply};
pub use atomic::Atomic;
pub use borrow::{BorrowedRange, SharedRange};
pub use buffer::{Buffer, BufferMut};
pub use context::{Context, ContextBuilder};
#[doc(hidden)]
pub use descriptors::require_descriptors;
pub use endpoint::{CloseMode, Endpoint, EndpointBuilder, EndpointId, ErrorMode, Failed};
pub use features::Features;
pub use imported::Imported;
pub use memory::Memory;
pub use mesh::Mesh;
pub use outside::{Outside, OutsideMut};
pub use peer::PeerAddress;
pub use rendezvous::Rendezvous;
pub use request::{Outcome, Request};
pub use rma::RemoteMemory;
pub use stable::Stable;
pub use status::{Error, Result, Status};
pub use tag::TagInfo;
pub use variables::variables;
pub use version::{OLDEST, Version, require_version, version, wire_compatible};
pub use worker::{WeakWorker, Worker};
