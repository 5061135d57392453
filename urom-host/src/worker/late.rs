//! Tasks that are given up before their answer is there: by their deadline, or because the program
//! says so.
//!
//! DOCA has no call that takes a command back. The library's task, and its slot, stay in flight
//! until the answer comes or the worker is gone, so that a late answer never reaches another
//! command. This kit's worker tells the plugin that nobody waits.

use std::cell::Cell;
use std::time::{Duration, Instant};

use urom_abi::extension::LONGEST_FAILURE;
use urom_os::fork::Inherited;

use crate::callback;
use crate::engine::Timed;
use crate::task::Task;
use crate::worker::context::{Context, Slot};
use crate::worker::slots::{End, SlotState};

impl Timed for Context {
    fn expire(&self, now: Instant) -> (bool, Option<Instant>) {
        let (mut moved, mut next) = (false, None);
        for slot in self.slots.iter() {
            let waits = matches!(
                slot.state.get(),
                SlotState::Waiting
                    | SlotState::Watched
                    | SlotState::Calling
                    | SlotState::CallCancelled
            );
            match slot.deadline.get() {
                Some(at) if waits && at <= now => {
                    moved = true;
                    // A callback or a waker that panics must not keep the others waiting.
                    callback::guard(|| self.end(slot));
                }
                Some(at) if waits => next = Some(next.map_or(at, |next: Instant| next.min(at))),
                _ => {}
            }
        }
        (moved, next)
    }
}

impl Context {
    /// Notes when a task that was just submitted is to be given up.
    pub(crate) fn set_deadline(&self, slot: &Slot, at: Instant) {
        slot.deadline.set(Some(at));
        let deadlines = self.engine.core().deadlines();
        if !self.timed.replace(true) {
            // SAFETY: the context stays in its box until the drop of its owner, which removes it
            // first.
            unsafe { deadlines.add_worker(self) };
        }
        deadlines.note(at);
    }

    /// Ends a task by its deadline, or by a cancel that its callback is to be told of.
    fn end(&self, slot: &Slot) {
        slot.deadline.set(None);
        if slot.state.get() != SlotState::CallCancelled {
            self.tell_plugin(slot, true);
        }
        let end = End::TimedOut(slot.limit.get());
        match slot.state.get() {
            SlotState::Waiting | SlotState::Watched => self.end_future(slot, end),
            SlotState::Calling => {
                slot.end.set(end);
                self.deliver(slot, SlotState::Ended);
            }
            SlotState::CallCancelled => self.deliver(slot, SlotState::Ended),
            _ => {}
        }
    }

    /// Ends a task whose future waits for it.
    pub(crate) fn end_future(&self, slot: &Slot, end: End) {
        slot.end.set(end);
        slot.state.set(SlotState::Ended);
        if let Some(waker) = slot.waker.take() {
            waker.wake();
        }
    }

    /// Ends a task of a worker that was made before a fork, for its future here.
    #[cold]
    pub(crate) fn end_inherited(&self, slot: &Slot, why: Inherited) {
        slot.end.set(End::Inherited(why));
        slot.state.set(SlotState::Ended);
    }

    /// Gives a task up; whether it was still to be answered. A future is told at once, a callback
    /// by the next progress.
    pub(crate) fn cancel(&self, slot: &Slot) -> bool {
        if matches!(slot.state.get(), SlotState::Waiting | SlotState::Watched | SlotState::Calling)
        {
            self.tell_plugin(slot, false);
        }
        match slot.state.get() {
            SlotState::Waiting | SlotState::Watched => self.end_future(slot, End::Cancelled),
            SlotState::Calling => {
                slot.end.set(End::Cancelled);
                slot.state.set(SlotState::CallCancelled);
                self.set_deadline(slot, Instant::now());
                self.engine.core().deadlines().check_next();
            }
            _ => return false,
        }
        true
    }

    /// Has the worker tell the plugin how long the answer of a task is waited for.
    #[cold]
    pub(crate) fn announce(&self, slot: &Slot, limit: Option<Duration>) {
        if limit == slot.announced.get() {
            return;
        }
        let set_deadline = self.extensions().urom_worker_cmd_task_set_deadline;
        let Some((set_deadline, doca)) = set_deadline.zip(slot.doca.get()) else { return };
        // A limit of nothing is one, and one that no clock can hold is none.
        let limit_of = |limit: Duration| u64::try_from(limit.as_nanos()).unwrap_or(0).max(1);
        let left = limit.map_or(0, limit_of);
        // SAFETY: the task is live, and the worker's own.
        unsafe { set_deadline(doca.command.as_ptr(), left) };
        slot.announced.set(limit);
    }

    /// Has the worker tell the plugin that nobody waits for the answer of a task.
    pub(crate) fn tell_plugin(&self, slot: &Slot, timed_out: bool) {
        let cancel = self.extensions().urom_worker_cmd_task_cancel;
        let Some((cancel, doca)) = cancel.zip(slot.doca.get()) else { return };
        // SAFETY: the task is live, and the worker's own. A worker that is gone needs no telling.
        unsafe { cancel(doca.command.as_ptr(), timed_out.into()) };
    }

    /// Why the completed command of a slot failed; empty when nobody said so.
    pub(crate) fn why(&self, slot: &Slot) -> String {
        let get_failure = self.extensions().urom_worker_cmd_task_get_failure;
        let Some((get_failure, doca)) = get_failure.zip(slot.doca.get()) else {
            return String::new();
        };
        let mut text = vec![0; LONGEST_FAILURE];
        let (task, room) = (doca.command.as_ptr().cast_const(), text.len());
        // SAFETY: the task is live, and the place has so much room.
        let len = unsafe { get_failure(task, text.as_mut_ptr().cast(), room) };
        text.truncate(len);
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Counts the reply of a task that nobody waits for. Replies that refuse a command or that are
    /// too long have no bytes; while the worker stops, an end without bytes is no reply.
    pub(super) fn count(&self, counter: &Cell<u64>, task: &Task<'_>) {
        if task.has_response() || !self.is_winding_down() {
            counter.set(counter.get() + 1);
        }
    }

    /// How many tasks are in flight whose replies will be thrown away.
    pub(crate) fn given_up(&self) -> usize {
        self.slots.iter().filter(|slot| slot.is_given_up()).count()
    }
}
