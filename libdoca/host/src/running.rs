//! What a running service shares with its worker contexts, which may belong to other threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;
use urom_service::embedded::Embedded;
use urom_wire::key::Key;
use urom_wire::patience::Patience;

use crate::control_thread::ControlThread;
use crate::daemon_link::{Request, Welcome};

/// A service context as its workers see it, for as long as it exists.
#[derive(Default)]
pub(super) struct Shared {
    /// Worker contexts that were given this service and are not destroyed.
    attached: AtomicUsize,
    active: AtomicUsize,
    running: Mutex<Option<Arc<RunningService>>>,
}

pub(super) struct RunningService {
    pub(super) requests: mpsc::UnboundedSender<Request>,
    pub(super) welcome: Welcome,
    pub(super) max_message: usize,
    pub(super) max_workers: Option<u32>,
    /// What its workers are shown.
    pub(super) key: Option<Key>,
    pub(super) patience: Patience,
    // Dropped in this order: tasks on the thread talk to the service.
    pub(super) control: Arc<ControlThread>,
    pub(super) _embedded: Option<Arc<Embedded>>,
}

/// A worker context's hold on its service.
pub(super) struct Attachment(Arc<Shared>);

/// A worker context that is not idle: it counts against the limit, and keeps the running service.
pub(super) struct Place {
    shared: Arc<Shared>,
    // What the running service holds must outlive the worker: control thread and embedded service.
    _running: Arc<RunningService>,
}

impl Shared {
    pub(super) fn running(&self) -> Option<Arc<RunningService>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_running(&self, running: Option<Arc<RunningService>>) {
        let previous = {
            let mut current = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *current, running)
        };
        // Outside of the lock: this may end the control thread and an embedded service.
        drop(previous);
    }

    pub(super) fn is_attached(&self) -> bool {
        self.attached.load(Ordering::Acquire) != 0
    }

    pub(super) fn is_active(&self) -> bool {
        self.active.load(Ordering::Acquire) != 0
    }
}

impl Attachment {
    pub(super) fn new(shared: Arc<Shared>) -> Attachment {
        shared.attached.fetch_add(1, Ordering::AcqRel);
        Attachment(shared)
    }

    pub(super) fn running(&self) -> Option<Arc<RunningService>> {
        self.0.running()
    }

    /// A place for one more worker that is not idle. `None` at the limit.
    pub(super) fn enter(&self, running: Arc<RunningService>) -> Option<Place> {
        let limit = running.max_workers.map_or(usize::MAX, |limit| limit as usize);
        let next = |active: usize| (active < limit).then(|| active + 1);
        self.0.active.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).ok()?;
        Some(Place { shared: Arc::clone(&self.0), _running: running })
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        self.0.attached.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.shared.active.fetch_sub(1, Ordering::AcqRel);
    }
}
