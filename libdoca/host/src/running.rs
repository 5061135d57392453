//! State shared by a running service and its worker contexts, possibly on other threads.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;
use urom_wire::key::Key;
use urom_wire::peer_timeout::PeerTimeout;

use crate::control_thread::ControlThread;
use crate::daemon_link::{DaemonRequest, Welcome};
use crate::embedded::Embedded;

/// A service context, shared with each configured and not yet destroyed worker context.
#[derive(Default)]
pub(super) struct SharedService {
    running: Mutex<Option<Arc<RunningService>>>,
    slots: Arc<()>,
}

pub(super) struct RunningService {
    pub(super) requests: mpsc::UnboundedSender<DaemonRequest>,
    pub(super) welcome: Welcome,
    pub(super) max_message: usize,
    pub(super) max_workers: Option<u32>,
    pub(super) key: Option<Key>,
    pub(super) peer_timeout: PeerTimeout,
    // Dropped in this order: tasks on the thread use the service.
    pub(super) control: Arc<ControlThread>,
    pub(super) _embedded: Option<Arc<Embedded>>,
}

/// A non-idle worker context. It counts against the limit and keeps the service running.
pub(super) struct WorkerSlot {
    slot: Option<Arc<()>>,
    // The control thread and embedded service must outlive the worker.
    _running: Arc<RunningService>,
}

impl WorkerSlot {
    pub(super) fn release(&mut self) {
        self.slot = None;
    }
}

impl SharedService {
    fn lock(&self) -> MutexGuard<'_, Option<Arc<RunningService>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn running(&self) -> Option<Arc<RunningService>> {
        self.lock().clone()
    }

    pub(super) fn set_running(&self, running: Option<Arc<RunningService>>) {
        let previous = std::mem::replace(&mut *self.lock(), running);
        // Outside the lock: this may end the control thread and an embedded service.
        drop(previous);
    }

    pub(super) fn active(&self) -> usize {
        Arc::strong_count(&self.slots) - 1
    }

    /// Reserves a worker's slot. `None` at the limit.
    pub(super) fn enter(&self, running: Arc<RunningService>) -> Option<WorkerSlot> {
        let _one_at_a_time = self.lock();
        let limit = running.max_workers.map_or(usize::MAX, |limit| limit as usize);
        (self.active() < limit)
            .then(|| WorkerSlot { slot: Some(Arc::clone(&self.slots)), _running: running })
    }
}
