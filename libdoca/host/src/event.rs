//! Events from the control thread to a progress engine.

use urom_wire::control::{Failure, PluginAddress};
use urom_wire::envelope::VerificationTag;
use urom_wire::ring::Ring;

/// An event of one run of a context (from a start to the next idle).
#[derive(Debug)]
pub(super) enum EngineEvent {
    Attached(Box<AttachedWorker>),
    /// The worker's handshake over UCX timed out.
    Overdue,
    /// The control stream ended, at the host's request or with this failure.
    Ended(Option<Failure>),
    /// A counter in a task's wait condition has changed.
    Counter,
    Group {
        query: u64,
        result: Result<Vec<u64>, Failure>,
    },
}

pub(super) type Mailbox = urom_wire::mailbox::Mailbox<(u64, EngineEvent)>;

#[derive(Debug)]
pub(super) struct AttachedWorker {
    pub(super) id: u64,
    /// If the worker refused the ring, frames take UCX.
    pub(super) ring: Option<Ring>,
    pub(super) ucx_address: Vec<u8>,
    pub(super) channel: u16,
    pub(super) max_message: usize,
    /// The protocol of the worker's stream.
    pub(super) protocol: u16,
    pub(super) plugins: Vec<PluginAddress>,
    /// Authenticates messages in both directions.
    pub(super) tag: VerificationTag,
}
