//! What wakes a thread that waits: a flag, and a descriptor for when it sleeps.

use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;

use rustix::event::{EventfdFlags, eventfd};

/// Wakes this thread, from any thread.
pub(super) struct Notifier {
    pub(super) notified: AtomicBool,
    pub(super) asleep: AtomicBool,
    pub(super) bell: Option<OwnedFd>,
}

impl Notifier {
    fn new() -> Notifier {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok();
        Notifier { notified: AtomicBool::new(false), asleep: AtomicBool::new(false), bell }
    }

    /// Takes back what [`Wake`] wrote.
    pub(super) fn quiet(&self) {
        if let Some(bell) = &self.bell {
            // Nothing to read is the usual case.
            let _ = rustix::io::read(bell, &mut [0; 8]);
        }
    }
}

impl Wake for Notifier {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.notified.store(true, Ordering::SeqCst);
        if self.asleep.load(Ordering::SeqCst)
            && let Some(bell) = &self.bell
        {
            // It can only fail when the counter is full, and then the thread is awake.
            let _ = rustix::io::write(bell, &1u64.to_ne_bytes());
        }
    }
}

thread_local! {
    static NOTIFIER: Cell<Option<Arc<Notifier>>> = const { Cell::new(None) };
}

/// One wait. It borrows the thread's notifier; a wait inside another one makes a second.
pub(super) struct Session {
    pub(super) notifier: Arc<Notifier>,
}

impl Session {
    pub(super) fn begin() -> Session {
        let spare = NOTIFIER.try_with(Cell::take).ok().flatten();
        Session { notifier: spare.unwrap_or_else(|| Arc::new(Notifier::new())) }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let notifier = Arc::clone(&self.notifier);
        let _ = NOTIFIER.try_with(|spare| spare.set(Some(notifier)));
    }
}
