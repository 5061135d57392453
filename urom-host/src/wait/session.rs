//! One wait, and the notifier that it borrows from its thread.

use std::cell::Cell;
use std::sync::Arc;

use super::notifier::Notifier;

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
