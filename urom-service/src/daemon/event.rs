//! What the daemon's loop is told by the tasks that carry streams and watch workers.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use urom_wire::control::{DaemonToHost, Failure, HostToDaemon, WorkerToDaemon};

use super::discovery::Found;
use super::roster::{HostKey, Serial};

/// What happened. Nothing prints it: tickets are in it.
pub(crate) enum Event {
    HostCame { key: HostKey, host: HostLink },
    Host { key: HostKey, message: HostToDaemon },
    HostGone { key: HostKey },
    Worker { serial: Serial, message: WorkerToDaemon },
    NotStarted { serial: Serial, failure: Failure },
    WorkerSilent { serial: Serial },
    WorkerGone { serial: Serial, cause: String },
    Overdue { serial: Serial },
    Expired { serial: Serial, ticket: u128 },
}

/// A host that was greeted.
#[derive(Debug)]
pub(crate) struct HostLink {
    pub(crate) outbox: mpsc::Sender<DaemonToHost>,
    /// Has its stream end at once, and not when what it was told is written.
    pub(crate) give_up: oneshot::Sender<()>,
    pub(crate) plugins: Arc<[Found]>,
    /// What log lines call it.
    pub(crate) peer: SocketAddr,
}
