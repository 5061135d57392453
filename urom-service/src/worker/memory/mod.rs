//! Memory that hosts share with this worker. The engine of `urom-memory` checks and runs plugins'
//! operations; this module adds the parts that need a worker.

pub(crate) mod handover;
pub(crate) mod remote;
mod shared;
#[cfg(test)]
mod tests;

pub(crate) use shared::{HandedOffer, HostMemories};
