//! Questions of operators to the daemon's loop.

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use urom_wire::awake::timeout;

use super::event::DaemonEvent;
use super::search::PluginSearch;
use super::snapshot::Snapshot;

/// Time limit for an answer of the daemon's loop.
const HEALTHY: Duration = Duration::from_secs(2);

#[derive(Clone)]
pub(crate) struct Observatory {
    pub(super) events: mpsc::Sender<DaemonEvent>,
    pub(super) search: PluginSearch,
    pub(super) key_file: Option<PathBuf>,
    pub(super) log_file: Option<PathBuf>,
}

impl Observatory {
    /// Asks the daemon's loop for its state.
    pub(super) async fn snapshot(&self) -> Option<Snapshot> {
        let plugins = self.search.latest().map(|plugins| plugins.len());
        let event = |reply| DaemonEvent::Observe { plugins, reply };
        let snapshot = self.ask(event);
        timeout(HEALTHY, snapshot).await.ok().flatten()
    }

    /// Sends an event, and waits for its reply; `None` if the service ends.
    pub(super) async fn ask<T>(
        &self,
        event: impl FnOnce(oneshot::Sender<T>) -> DaemonEvent,
    ) -> Option<T> {
        let (reply, replied) = oneshot::channel();
        self.events.send(event(reply)).await.ok()?;
        replied.await.ok()
    }
}
