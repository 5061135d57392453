//! When an engine has to check its workers' deadlines next.
//!
//! A submission costs one comparison, and a completion nothing: an engine knows only a time before
//! which no deadline passes. At that time its workers search their tasks.

use std::cell::{Cell, OnceCell, RefCell};
use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::task::Waker;
use std::time::Instant;

use super::alarm::Alarm;
use crate::callback;

/// After how many completions in a row deadlines, other engines and other futures of the thread get
/// their turn.
pub(crate) const MOVES: u32 = 64;

pub(crate) trait Timed {
    /// Ends every task whose deadline has passed; whether there was one, and the earliest deadline
    /// of the others.
    fn expire(&self, now: Instant) -> (bool, Option<Instant>);
}

#[derive(Default)]
pub(crate) struct Deadlines {
    /// No deadline of any task is before this; `None` when there is none.
    next: Cell<Option<Instant>>,
    workers: RefCell<Vec<NonNull<dyn Timed>>>,
    /// Futures to be woken at a time.
    resting: RefCell<Vec<(Instant, Waker)>>,
    moves: Cell<u32>,
    /// What programs sleep on: the engine's handle and a timer. `Some(None)` when the system
    /// refused to make it.
    alarm: OnceCell<Option<Alarm>>,
}

impl Deadlines {
    /// Adds a worker with deadlines.
    ///
    /// # Safety
    /// The worker stays where it is, and is [removed](Self::remove_worker) before it is freed.
    pub(crate) unsafe fn add_worker(&self, worker: &(dyn Timed + 'static)) {
        self.workers.borrow_mut().push(NonNull::from(worker));
    }

    pub(crate) fn remove_worker(&self, worker: NonNull<()>) {
        self.workers.borrow_mut().retain(|known| known.cast() != worker);
    }

    pub(crate) fn note(&self, at: Instant) {
        if self.lower(at)
            && let Err(error) = self.set_alarm()
        {
            tracing::warn!("a deadline will not wake an event loop: {error}");
        }
    }

    fn lower(&self, at: Instant) -> bool {
        let is_first = self.next.get().is_none_or(|next| at < next);
        if is_first {
            self.next.set(Some(at));
        }
        is_first
    }

    /// Wakes a future at a time, or before. It is woken once for all times that it gave.
    pub(crate) fn wake_at(&self, at: Instant, waker: &Waker) {
        let known = |(time, known): &mut (Instant, Waker)| {
            let is_same = known.will_wake(waker);
            if is_same {
                *time = at.min(*time);
            }
            is_same
        };
        if !self.resting.borrow_mut().iter_mut().any(known) {
            // Cloning a waker runs code of others, which may call this.
            let waker = waker.clone();
            self.resting.borrow_mut().push((at, waker));
        }
        self.note(at);
    }

    /// The time before which nothing is due; `None` when nothing will be.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.next.get()
    }

    /// Whether to read the clock after a progress. While something moves it is read less often.
    pub(crate) fn is_check_due(&self, moved: bool) -> bool {
        self.next.get().is_some() && (!moved || self.is_turn())
    }

    /// Counts a completion, or a wait for one; whether to check the deadlines although something
    /// moves.
    #[inline]
    pub(crate) fn is_turn(&self) -> bool {
        self.moves.set((self.moves.get() + 1) % MOVES);
        self.moves.get() == 0
    }

    /// Makes the next progress or wait check the deadlines, whatever moves.
    pub(crate) fn check_next(&self) {
        self.moves.set(MOVES - 1);
    }

    /// Ends what is due; whether there was something. Nothing happens inside a callback.
    pub(crate) fn expire(&self, now: Instant) -> bool {
        self.next.get().is_some_and(|next| next <= now)
            && callback::run_unless_running(|| self.expire_all(now))
    }

    #[cold]
    fn expire_all(&self, now: Instant) -> bool {
        self.next.set(None);
        let mut moved = self.wake_due(now);
        // By index: callbacks may submit tasks with deadlines, and so add workers.
        for index in 0.. {
            let Some(worker) = self.workers.borrow().get(index).copied() else { break };
            // SAFETY: a worker is removed before it is freed, and none is freed while callbacks
            // may run.
            let (ended, next) = unsafe { worker.as_ref() }.expire(now);
            moved |= ended;
            if let Some(next) = next {
                // The alarm stays as it is: it may go off too early, and is set again with the next
                // request.
                self.lower(next);
            }
        }
        moved
    }

    fn wake_due(&self, now: Instant) -> bool {
        let (due, resting): (Vec<_>, Vec<_>) =
            self.resting.take().into_iter().partition(|(at, _)| *at <= now);
        for (at, _) in &resting {
            self.lower(*at);
        }
        self.resting.replace(resting);
        let woken = !due.is_empty();
        due.into_iter().for_each(|(_, waker)| callback::guard(|| waker.wake()));
        woken
    }

    /// The descriptor that is readable when `handle` is or a deadline has passed. The first call
    /// makes it.
    pub(crate) fn alarm(&self, handle: BorrowedFd<'_>) -> Option<&Alarm> {
        let make = || {
            let alarm = Alarm::new(handle)?;
            alarm.set(self.next.get())?;
            io::Result::Ok(alarm)
        };
        let warn = |error: &io::Error| {
            tracing::warn!("deadlines will not wake an event loop: no timer: {error}");
        };
        self.alarm.get_or_init(|| make().inspect_err(warn).ok()).as_ref()
    }

    pub(crate) fn set_alarm(&self) -> io::Result<()> {
        self.made_alarm().map_or(Ok(()), |alarm| alarm.set(self.next.get()))
    }

    pub(crate) fn clear_alarm(&self) {
        if let Some(alarm) = self.made_alarm() {
            alarm.clear();
        }
    }

    fn made_alarm(&self) -> Option<&Alarm> {
        self.alarm.get()?.as_ref()
    }
}
