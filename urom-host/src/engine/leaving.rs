//! Workers and domains that were dropped and take long to stop: their engine keeps them until they
//! are idle.
//!
//! Each keeps its engine, too, as its context has to be destroyed before that. So an engine counts
//! its handles: when none is left but those of the leaving, nobody progresses it any more, and the
//! last handle waits for them.

use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::time::{Duration, Instant};

use urom_abi::host::Ctx;

use crate::callback;
use crate::wait;

/// How long a drop waits itself.
pub(crate) const DROP_WAIT: Duration = Duration::from_millis(100);

/// How long one that leaves may take, if its engine does not live for longer. A peer that is frozen
/// or cut off is noticed in half of it.
pub(crate) const LEAVE_LIMIT: Duration = Duration::from_secs(10);

/// The owner of a context that was dropped. To drop it once it is idle destroys the context.
pub(crate) trait Leaver {
    /// Its context in the library.
    fn ctx(&self) -> NonNull<Ctx>;
    /// Whether the context can be destroyed.
    fn is_idle(&self) -> bool;
    /// How many handles of its engine it has.
    fn handles(&self) -> usize;
    /// Leaves the context to the library, for ever.
    fn stay_behind(self: Box<Self>);
}

/// Those of one engine, and its handles.
#[derive(Default)]
pub(crate) struct Leaving {
    /// Each with the time when it was dropped.
    leavers: RefCell<Vec<(Instant, Box<dyn Leaver>)>>,
    /// How many handles the engine has.
    pub(super) handles: Cell<usize>,
    /// The last handle waits.
    waiting: Cell<bool>,
}

impl Leaving {
    /// Keeps one until it is idle.
    pub(crate) fn keep(&self, leaver: Box<dyn Leaver>) {
        self.leavers.borrow_mut().push((Instant::now(), leaver));
    }

    /// Has one destroyed after the callback that tells that its context is idle, if it is among
    /// these.
    pub(crate) fn is_idle(&self, ctx: NonNull<Ctx>) {
        let mut leavers = self.leavers.borrow_mut();
        if let Some(place) = leavers.iter().position(|(_, leaver)| leaver.ctx() == ctx) {
            callback::drop_later(leavers.swap_remove(place).1);
        }
    }

    /// Whether there are some, and all handles are theirs.
    pub(crate) fn is_alone(&self) -> bool {
        let leavers = self.leavers.borrow();
        let handles = leavers.iter().map(|(_, leaver)| leaver.handles()).sum();
        !leavers.is_empty() && self.handles.get() == handles
    }

    /// Waits for all of them, progressing all engines of this thread. Those that take longer than
    /// they may stay behind.
    pub(crate) fn wait_for_all(&self) {
        if self.waiting.get() {
            return;
        }
        let Some(last) = self.leavers.borrow().iter().map(|(since, _)| *since).max() else {
            return;
        };
        let limit = (last + LEAVE_LIMIT).saturating_duration_since(Instant::now());
        let gone = || {
            self.drop_idle();
            self.leavers.borrow().is_empty()
        };
        self.waiting.set(true);
        if !wait::wait_until(limit, gone) {
            self.leavers.take().into_iter().for_each(|(_, leaver)| leaver.stay_behind());
        }
        self.waiting.set(false);
    }

    /// Drops those that are idle. Most are taken out by a callback before.
    fn drop_idle(&self) {
        loop {
            let mut leavers = self.leavers.borrow_mut();
            let Some(place) = leavers.iter().position(|(_, leaver)| leaver.is_idle()) else {
                return;
            };
            let leaver = leavers.swap_remove(place);
            // What it drops may come back here.
            drop(leavers);
            drop(leaver);
        }
    }
}
