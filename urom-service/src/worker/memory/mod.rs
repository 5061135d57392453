//! Memory that hosts share with this worker. The engine of `urom-memory` checks and runs plugins'
//! operations; this module adds the parts that need a worker.
//!
//! | file | contents |
//! | --- | --- |
//! | `socket` | the socket where hosts hand over descriptors |
//! | `shared` | all hosts' memories: choice of the path, end of a share |
//! | `remote` | the network path: requests to a host's library over UCX |

pub(crate) mod handover;
pub(crate) mod remote;
mod shared;
#[cfg(test)]
mod tests;

pub(crate) use shared::{HandedOffer, HostMemories};
