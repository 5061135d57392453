//! What the control thread tells a progress engine.

use urom_wire::control::{Failure, PluginAddress};
use urom_wire::envelope::Pass;
use urom_wire::ring::Ring;

/// Something that happened to one run of a context (from a start to the next idle).
#[derive(Debug)]
pub(super) enum Event {
    Attached(Box<Attached>),
    /// The worker's greeting over UCX is overdue.
    Overdue,
    /// The control stream ended: because the host wanted it, or for this reason.
    Ended(Option<Failure>),
    /// A counter that a task of the engine waits for has changed.
    Counter,
    /// The answer to a group query.
    Group {
        query: u64,
        result: Result<Vec<u64>, Failure>,
    },
}

/// Events of the control thread for a progress engine, each with the number of its run.
pub(super) type Mailbox = urom_wire::mailbox::Mailbox<(u64, Event)>;

/// The worker's answer when it lets the host in.
#[derive(Debug)]
pub(super) struct Attached {
    pub(super) id: u64,
    /// The ring that the worker took; without one, frames take UCX.
    pub(super) ring: Option<Ring>,
    pub(super) ucx_address: Vec<u8>,
    pub(super) channel: u16,
    pub(super) max_message: usize,
    pub(super) plugins: Vec<PluginAddress>,
    /// The pass of messages in both directions.
    pub(super) pass: Pass,
}
