//! Safe UCX: contexts, workers, endpoints, active messages, tags, memory.

mod address;
mod am;
mod atomic;
mod buffer;
mod close;
mod context;
mod endpoint;
mod inner;
mod listener;
mod memory;
mod request;
mod rma;
mod signal;
mod socket;
mod status;
mod tag;
mod version;
mod worker;
mod zeroed;

pub use address::WorkerAddress;
pub use am::{AmFlags, Data, Message, Rendezvous, Reply};
pub use atomic::Atomic;
pub use buffer::{Buffer, BufferMut};
pub use close::{Close, CloseMode};
pub use context::{Context, ContextBuilder, Features};
pub use endpoint::{Endpoint, EndpointBuilder, EndpointId, ErrorMode};
pub use listener::{ConnectionRequest, Listener};
pub use memory::{Lease, Memory, MemoryHandle};
pub use request::{Outcome, Request};
pub use rma::RemoteMemory;
pub use signal::Signal;
pub use status::{Error, Result, Status};
pub use tag::{TagInfo, TagMessage};
pub use version::{ParseVersionError, Version, version, wire_compatible};
pub use worker::{WeakWorker, Worker};
