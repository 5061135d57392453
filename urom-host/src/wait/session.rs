//! One wait, and the notifier that it borrows from its thread.

use std::cell::Cell;
use std::sync::Arc;

use super::notifier::Notifier;

thread_local! {
    static NOTIFIER: Cell<Option<Arc<Notifier>>> = const { Cell::new(None) };
    /// How many waits are under way, one inside the other.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// One wait. It borrows the thread's notifier; a wait inside another one makes a second.
pub(super) struct Session {
    pub(super) notifier: Arc<Notifier>,
}

impl Session {
    pub(super) fn begin() -> Session {
        DEPTH.set(DEPTH.get() + 1);
        let spare = NOTIFIER.try_with(Cell::take).ok().flatten();
        Session { notifier: spare.unwrap_or_else(|| Arc::new(Notifier::new())) }
    }
}

/// Whether a wait is under way on this thread.
#[cfg(feature = "tokio")]
pub(crate) fn is_waiting() -> bool {
    DEPTH.get() > 0
}

impl Drop for Session {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        #[cfg(feature = "tokio")]
        crate::tokio::note_progress();
        let notifier = Arc::clone(&self.notifier);
        let _ = NOTIFIER.try_with(|spare| spare.set(Some(notifier)));
    }
}
