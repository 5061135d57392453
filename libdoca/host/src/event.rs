//! What the control thread tells a progress engine.

use urom_wire::control::{Failure, PluginAddress};
use urom_wire::pass::Pass;

/// Something that happened to one run of a context (from a start to the next idle).
#[derive(Debug)]
pub(super) enum Event {
    /// A worker let the host in.
    Attached(Attached),
    /// The worker should have greeted over UCX by now.
    Overdue,
    /// The control stream is over: by the host's own wish, or for this reason.
    Ended(Option<Failure>),
    /// How the start of a domain went at a worker.
    DomainStarted {
        /// The worker's place among those of the domain.
        worker: usize,
        /// It has the domain's table, or why it has not; `None` when that will never be heard.
        result: Option<Result<(), Failure>>,
    },
    /// The answer to a group query.
    Group {
        /// Which query.
        query: u64,
        /// The worker ids, or why there are none.
        result: Result<Vec<u64>, Failure>,
    },
}

/// How the control thread leaves events for a progress engine: the run's number, and what happened
/// to it.
pub(super) type Mailbox = urom_wire::mailbox::Mailbox<(u64, Event)>;

/// What a worker said when it let the host in.
#[derive(Debug)]
pub(super) struct Attached {
    /// The worker's id.
    pub(super) id: u64,
    /// Its UCX address.
    pub(super) ucx_address: Vec<u8>,
    /// Its number for the connection.
    pub(super) channel: u16,
    /// The message limit that holds for both.
    pub(super) max_message: usize,
    /// Where its plugins are reached.
    pub(super) plugins: Vec<PluginAddress>,
    /// What messages begin with, both ways.
    pub(super) pass: Pass,
}
