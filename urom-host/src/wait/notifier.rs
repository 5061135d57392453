//! What wakes a thread that waits: a flag, and a bell for when it sleeps.

use std::sync::Arc;
use std::task::Wake;

use super::sync::{AtomicBool, EventFd, Ordering};

pub(super) struct Notifier {
    /// Somebody woke it, and it has not looked since.
    notified: AtomicBool,
    asleep: AtomicBool,
    bell: Option<EventFd>,
}

impl Notifier {
    pub(super) fn new() -> Notifier {
        Notifier {
            notified: AtomicBool::new(false),
            asleep: AtomicBool::new(false),
            // None when the system has no descriptor left.
            bell: EventFd::new().ok(),
        }
    }

    /// As if somebody had woken it, by the thread that waits itself: for the first look.
    pub(super) fn begin(&self) {
        self.notified.store(true, Ordering::Relaxed);
    }

    /// Whether somebody woke it since the last call. What they did before can be seen then.
    #[inline]
    pub(super) fn take(&self) -> bool {
        self.notified.swap(false, Ordering::AcqRel)
    }

    /// Whether [`take`](Notifier::take) would say so.
    #[inline]
    pub(super) fn is_notified(&self) -> bool {
        self.notified.load(Ordering::Acquire)
    }

    /// Has the thread sleep by `until`, which returns when the bell can be heard, or sooner; not at
    /// all if somebody woke it already.
    pub(super) fn sleep(&self, until: impl FnOnce(Option<&EventFd>)) {
        // The other half is in `wake_by_ref`: whichever of the two writes comes second sees the
        // first.
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
        // No store: `take` sees what the waker before this one did, too, and nothing else tells it
        // of that one.
        self.notified.swap(true, Ordering::SeqCst);
        if self.asleep.load(Ordering::SeqCst)
            && let Some(bell) = &self.bell
        {
            bell.raise();
        }
    }
}
