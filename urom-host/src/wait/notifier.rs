//! Wakes a waiting thread: a flag, and an eventfd (bell) while it sleeps.

use std::sync::Arc;
use std::task::Wake;

use super::sync::{AtomicBool, EventFd, Ordering};

pub(super) struct Notifier {
    notified: AtomicBool,
    asleep: AtomicBool,
    bell: Option<EventFd>,
}

impl Notifier {
    pub(super) fn new() -> Notifier {
        Notifier {
            notified: AtomicBool::new(false),
            asleep: AtomicBool::new(false),
            bell: EventFd::new().ok(),
        }
    }

    /// Sets the flag on the waiting thread itself, for the first poll.
    pub(super) fn begin(&self) {
        self.notified.store(true, Ordering::Relaxed);
    }

    /// Returns and clears the flag. The waker's earlier writes are visible then.
    #[inline]
    pub(super) fn take(&self) -> bool {
        self.notified.swap(false, Ordering::AcqRel)
    }

    #[inline]
    pub(super) fn is_notified(&self) -> bool {
        self.notified.load(Ordering::Acquire)
    }

    /// Calls `until`, which sleeps until the bell is readable, unless the thread was already woken.
    pub(super) fn sleep(&self, until: impl FnOnce(Option<&EventFd>)) {
        // Pairs with `wake_by_ref`: whichever of the two writes comes second sees the first.
        self.asleep.store(true, Ordering::SeqCst);
        if !self.notified.load(Ordering::SeqCst) {
            until(self.bell.as_ref());
        }
        self.asleep.store(false, Ordering::SeqCst);
        if let Some(bell) = &self.bell {
            bell.lower();
        }
    }
}

impl Wake for Notifier {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // A swap, not a store: `take` must also see the writes before an earlier wake-up.
        self.notified.swap(true, Ordering::SeqCst);
        if self.asleep.load(Ordering::SeqCst)
            && let Some(bell) = &self.bell
        {
            bell.raise();
        }
    }
}
