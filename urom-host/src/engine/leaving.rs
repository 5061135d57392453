//! Dropped workers and domains that take long to stop: their engine keeps them until they are idle.
//!
//! Each of them keeps the engine, because its context must be destroyed first. So an engine counts
//! its handles: when only those of such contexts are left, nobody progresses it any more, and the
//! drop of the last other handle waits for them.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use urom_abi::host::Ctx;

use crate::callback;
use crate::wait;

/// How long the drop of a worker or domain waits.
pub(crate) const DROP_WAIT: Duration = Duration::from_millis(100);

/// How long a dropped context may take to stop once its engine has no other users. A frozen or
/// disconnected peer is noticed in half of that time.
pub(crate) const LEAVE_LIMIT: Duration = Duration::from_secs(10);

/// The owner of a context that was dropped. Dropping this, once the context is idle, destroys it.
pub(crate) trait Leaver {
    fn ctx(&self) -> *mut Ctx;
    fn handles(&self) -> usize;
    /// Leaks the context, which the library still uses.
    fn stay_behind(self: Box<Self>);
}

/// The dropped contexts of one engine, and the number of its handles.
#[derive(Default)]
pub(crate) struct Leaving {
    /// Each with the time when it was dropped.
    leavers: RefCell<Vec<(Instant, Box<dyn Leaver>)>>,
    pub(super) handles: Cell<usize>,
    /// The last handle waits.
    waiting: Cell<bool>,
}

impl Leaving {
    /// Keeps one until it is idle.
    pub(crate) fn keep(&self, leaver: Box<dyn Leaver>) {
        self.leavers.borrow_mut().push((Instant::now(), leaver));
    }

    /// Destroys the context after the callback that reported it idle, if it is one of these.
    pub(crate) fn is_idle(&self, ctx: *mut Ctx) {
        let mut leavers = self.leavers.borrow_mut();
        if let Some(place) = leavers.iter().position(|(_, leaver)| leaver.ctx() == ctx) {
            callback::drop_later(leavers.swap_remove(place).1);
        }
    }

    /// Whether there are some and nobody else has a handle of the engine.
    pub(crate) fn is_alone(&self) -> bool {
        let leavers = self.leavers.borrow();
        let handles = leavers.iter().map(|(_, leaver)| leaver.handles()).sum();
        !leavers.is_empty() && self.handles.get() == handles
    }

    /// Waits for all of them, progressing all engines of this thread. Those that take too long are
    /// leaked.
    pub(crate) fn wait_for_all(&self) {
        if self.waiting.get() {
            return;
        }
        let Some(last) = self.leavers.borrow().iter().map(|(since, _)| *since).max() else {
            return;
        };
        let limit = (last + LEAVE_LIMIT).saturating_duration_since(Instant::now());
        self.waiting.set(true);
        if !wait::wait_until(limit, || self.leavers.borrow().is_empty()) {
            self.leavers.take().into_iter().for_each(|(_, leaver)| leaver.stay_behind());
        }
        self.waiting.set(false);
    }
}
