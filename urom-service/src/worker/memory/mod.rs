//! Memory that hosts share with this worker. The engine of `urom-memory` checks and runs what
//! plugins do with it; here is what the engine cannot have without a worker.
//!
//! | file | holds |
//! | --- | --- |
//! | `door` | the socket where a host hands descriptors over |
//! | `shared` | the memories of all hosts: the choice of the path, and the end of a share |
//! | `remote` | the path over the network: questions to a host's library by UCX |

pub(crate) mod door;
pub(crate) mod remote;
mod shared;
#[cfg(test)]
mod tests;

pub(crate) use shared::{HandedOffer, Memories};
