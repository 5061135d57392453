//! The deadlines that this crate checks itself: of sleeping futures, and of commands in a library
//! without deadlines. Before an engine's stored time none is due; then workers search their tasks.

use std::cell::{Cell, RefCell};
use std::rc::Weak;
use std::task::Waker;
use std::time::Instant;

use crate::callback;

/// Completions in a row before deadlines, other engines and other futures get their turn.
pub(crate) const MOVES: u32 = 64;

pub(crate) trait Timed {
    /// Ends every task past its deadline. Returns whether any was, and the next deadline.
    fn expire(&self, now: Instant) -> (bool, Option<Instant>);
}

#[derive(Default)]
pub(crate) struct Deadlines {
    /// Nothing is due before this time; `None` without any deadline.
    next: Cell<Option<Instant>>,
    workers: RefCell<Vec<Weak<dyn Timed>>>,
    resting: RefCell<Vec<(Instant, Waker)>>,
    moves: Cell<u32>,
}

impl Deadlines {
    pub(crate) fn add(&self, worker: Weak<dyn Timed>) {
        let mut workers = self.workers.borrow_mut();
        workers.retain(|known| known.strong_count() > 0);
        workers.push(worker);
    }

    pub(crate) fn note(&self, at: Instant) {
        self.next.update(|next| Some(next.map_or(at, |next| next.min(at))));
    }

    /// Wakes a future at `at` or earlier.
    pub(crate) fn wake_at(&self, at: Instant, waker: &Waker) {
        let known = |(time, known): &mut (Instant, Waker)| {
            let is_same = known.will_wake(waker);
            if is_same {
                *time = at.min(*time);
            }
            is_same
        };
        if !self.resting.borrow_mut().iter_mut().any(known) {
            // Cloning a waker runs foreign code, which may call this function.
            let waker = waker.clone();
            self.resting.borrow_mut().push((at, waker));
        }
        self.note(at);
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        self.next.get()
    }

    /// Whether to read the clock after a progress. It is read less often while something moves.
    pub(crate) fn is_check_due(&self, moved: bool) -> bool {
        self.next.get().is_some() && (!moved || self.is_turn())
    }

    /// Counts a completion or a wait; returns whether to check deadlines while something moves.
    #[inline]
    pub(crate) fn is_turn(&self) -> bool {
        self.moves.set((self.moves.get() + 1) % MOVES);
        self.moves.get() == 0
    }

    pub(crate) fn check_next(&self) {
        self.moves.set(MOVES - 1);
    }

    /// Ends due tasks and sleeps; returns whether any was due. Does nothing inside a callback.
    pub(crate) fn expire(&self, now: Instant) -> bool {
        self.next.get().is_some_and(|next| next <= now)
            && callback::run_unless_running(|| self.expire_all(now))
    }

    #[cold]
    fn expire_all(&self, now: Instant) -> bool {
        self.next.set(None);
        let (due, resting): (Vec<_>, Vec<_>) =
            self.resting.take().into_iter().partition(|(at, _)| *at <= now);
        resting.iter().for_each(|(at, _)| self.note(*at));
        self.resting.replace(resting);
        let mut moved = !due.is_empty();
        due.into_iter().for_each(|(_, waker)| callback::guard(|| waker.wake()));
        // A copy: callbacks may start workers.
        let workers = self.workers.borrow().clone();
        for worker in workers.iter().filter_map(Weak::upgrade) {
            let (ended, next) = worker.expire(now);
            moved |= ended;
            next.into_iter().for_each(|at| self.note(at));
        }
        moved
    }
}
