//! Events for the daemon's loop, from the tasks for streams and workers.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use urom_wire::control::{DaemonToHost, Failure, HostToDaemon, RecordingTarget, WorkerToDaemon};
use urom_wire::key::Key;

use super::discovery::FoundPlugin;
use super::operations::OperatorReply;
use super::registry::{HostKey, Serial};
use super::snapshot::Snapshot;

/// Not `Debug`, because it may contain tokens.
pub(crate) enum DaemonEvent {
    HostCame {
        key: HostKey,
        host: HostLink,
    },
    Host {
        key: HostKey,
        message: HostToDaemon,
    },
    HostGone {
        key: HostKey,
    },
    Worker {
        serial: Serial,
        message: WorkerToDaemon,
    },
    NotStarted {
        serial: Serial,
        failure: Failure,
    },
    WorkerSilent {
        serial: Serial,
    },
    WorkerGone {
        serial: Serial,
        cause: String,
    },
    Overdue {
        serial: Serial,
    },
    Expired {
        serial: Serial,
        token: u128,
    },
    /// Take no new hosts; replies when the last has left, or the deadline in seconds has passed.
    Drain {
        deadline: Option<u32>,
        reply: oneshot::Sender<OperatorReply>,
    },
    DrainOver {
        number: u64,
        seconds: u32,
    },
    /// Take hosts again, with this key if it was read. Replies with a text on the key.
    Reload {
        key: Option<Key>,
        reply: oneshot::Sender<Option<&'static str>>,
    },
    /// Record commands at all workers, or no longer.
    Record {
        target: Option<RecordingTarget>,
        reply: oneshot::Sender<usize>,
    },
    /// Returns the daemon's state.
    Observe {
        /// The number of plugins that were found.
        plugins: Option<usize>,
        reply: oneshot::Sender<Snapshot>,
    },
}

#[derive(Debug)]
pub(crate) struct HostLink {
    pub(crate) outbox: mpsc::Sender<DaemonToHost>,
    /// Closes its stream at once; queued messages are dropped.
    pub(crate) cancel: oneshot::Sender<()>,
    pub(crate) plugins: Arc<[FoundPlugin]>,
    pub(crate) peer: SocketAddr,
}
