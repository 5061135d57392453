//! Safe UCX: contexts, workers, endpoints, active messages, tags, memory.

mod address;
mod am;
mod buffer;
mod close;
mod context;
mod endpoint;
mod inner;
mod listener;
mod request;
mod signal;
mod socket;
mod status;
mod version;
mod worker;
mod zeroed;

pub use address::WorkerAddress;
pub use am::{AmFlags, Data, Message, Rendezvous, Reply};
pub use buffer::{Buffer, BufferMut};
pub use close::{Close, CloseMode};
pub use context::{Context, ContextBuilder, Features};
pub use endpoint::{Endpoint, EndpointBuilder, EndpointId, ErrorMode};
pub use listener::{ConnectionRequest, Listener};
pub use request::{Outcome, Request};
pub use signal::Signal;
pub use status::{Error, Result, Status};
pub use version::{ParseVersionError, Version, version, wire_compatible};
pub use worker::{WeakWorker, Worker};
