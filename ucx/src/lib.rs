//! Safe UCX: contexts, workers, endpoints, active messages, tags, memory.
//!
//! A [`Context`] says which features and transports a program uses, a [`Worker`] moves everything,
//! an [`Endpoint`] is a connection of a worker, and every operation is a [`Request`]: a future that
//! owns its buffer until UCX is done with it. UCX 1.16 or newer. The crate `ucx-probe` finds it for
//! the build; a package that makes a program or a shared object calls `ucx_probe::emit_rpath` in
//! its build script, so that it is found at run time as well.
//!
//! ```no_run
//! use ucx::{Context, Data, Features};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let context = Context::builder(Features::AM | Features::WAKEUP).config("TLS", "tcp,shm,self").build()?;
//! let worker = context.worker()?;
//! worker.set_am_handler(1, |message| {
//!     if let Data::Eager(bytes) = message.data {
//!         println!("{} bytes, where UCX received them", bytes.len());
//!     }
//! })?;
//!
//! let client = Context::new(Features::AM)?.worker()?;
//! let endpoint = client.connect(&worker.address()?)?;
//! let mut buffer = vec![0; 64];
//! loop {
//!     // A short message is done on return, and its buffer is free for the next one.
//!     match endpoint.am_send(1, b"header", buffer).into_done() {
//!         Ok((result, again)) => {
//!             result?;
//!             buffer = again;
//!         }
//!         Err(request) => buffer = request.wait().1,
//!     }
//!     worker.progress();
//! }
//! # }
//! ```
//!
//! # Rules that hold everywhere
//!
//! - A worker and what belongs to it stay on one thread; each thread makes its own [`Context`].
//! - Handlers, hooks and wakers are called from [`Worker::progress`]; hooks and wakers of endpoints
//!   whose peer left a [`Mesh`] from [`Worker::arm`], too. No panic crosses C: one in a handler
//!   goes on in the caller of `progress` when UCX has returned.
//! - Nothing that C says is trusted to be a valid value: a [`Status`] is any byte. What peers send
//!   to UCX itself is: UCX has no defence against a peer that means harm. So where a program hands
//!   this crate what another process made, addresses, keys and windows, the call is `unsafe`, and
//!   the caller vouches for where the bytes came from.
//! - In the steady state sending, receiving, waking and progressing allocate nothing.

mod address;
mod am;
mod atomic;
mod buffer;
mod context;
mod endpoint;
mod features;
mod flush;
mod handlers;
mod held;
mod inner;
mod lease;
mod memory;
mod mesh;
mod peer;
mod queues;
mod ranges;
mod rendezvous;
mod request;
mod rma;
mod settings;
mod slot;
mod stable;
mod status;
mod sum;
mod tag;
mod transports;
mod version;
mod watch;
mod window;
mod worker;
mod zeroed;

pub use address::WorkerAddress;
pub use am::{AmFlags, Data, Message, Reply};
pub use atomic::Atomic;
pub use buffer::{Buffer, BufferMut};
pub use context::{Context, ContextBuilder};
pub use endpoint::{Close, CloseMode, Endpoint, EndpointBuilder, ErrorMode};
pub use features::Features;
pub use lease::{Lease, SharedLease};
pub use memory::{Memory, MemoryHandle};
pub use mesh::Mesh;
pub use peer::PeerAddress;
pub use ranges::{RangeLease, Ranges};
pub use rendezvous::Rendezvous;
pub use request::{Outcome, Request};
pub use rma::RemoteMemory;
pub use stable::Stable;
pub use status::{Error, Result, Status};
pub use tag::TagInfo;
pub use version::{OLDEST, Version, require_version, version, wire_compatible};
pub use window::Window;
pub use worker::{WeakWorker, Worker};
