//! From the end of a task to its future or callback, and tasks that end early.
//!
//! This project's library ends a command at its deadline or after a cancel, and keeps a late answer
//! from every other command. DOCA lacks such calls. With another library, this module ends the
//! future alone, and the task stays in flight until its answer comes or the worker ends.

use std::cell::Cell;
use std::task::Context as TaskContext;
use std::time::{Duration, Instant};

use urom_abi::extension::LONGEST_FAILURE;
use urom_abi::host::GivenUp;
use urom_os::fork::Inherited;

use crate::callback;
use crate::engine::Timed;
use crate::task::{Response, Task};
use crate::worker::context::{Context, Owner, Slot};
use crate::worker::slots::{End, SlotState};

impl Context {
    /// Ends a task that the library has completed, for all but the usual case.
    ///
    /// # Safety
    /// The library has just completed the task of this slot, which is one of this worker's.
    #[cold]
    pub(crate) unsafe fn complete(&self, slot: &Slot) {
        // SAFETY: the task has completed, and the state, which is set below, keeps its future from
        // it.
        let task = unsafe { Task::of(self, slot) };
        match slot.state.get() {
            SlotState::Waiting => {
                let waker = slot.waker.take();
                task.leave();
                slot.state.set(SlotState::Complete);
                if self.is_winding_down() {
                    self.copy(slot);
                }
                if let Some(waker) = waker {
                    waker.wake();
                }
            }
            SlotState::Calling => {
                task.leave();
                self.deliver(slot, SlotState::Complete);
            }
            state @ (SlotState::GivenUp | SlotState::Dropped) => {
                if slot.given_up.get().is_some() {
                    self.count(&self.late_replies, &task);
                } else if !self.library.keeps_slots() {
                    self.count(&self.dropped_replies, &task);
                }
                if state == SlotState::Dropped {
                    return drop(Response::of(task));
                }
                // The slot stays until the future or callback takes the end.
                task.leave();
                self.release(slot);
                self.deliver(slot, SlotState::GivenUp);
            }
            // A task completes once: nothing else is in flight.
            state => {
                debug_assert!(false, "a task completed that was {state:?}");
                task.leave();
            }
        }
    }

    /// Gives the end of a task to its callback, if it has one.
    fn deliver(&self, slot: &Slot, end: SlotState) {
        slot.state.set(end);
        if let Some(deliver) = slot.deliver.take() {
            // SAFETY: it was there, so it was stored with its callback and none of the two was
            // taken.
            unsafe { deliver(self, slot) };
        }
    }

    /// Copies the replies that futures have yet to take. Releases their tasks, and the ready tasks.
    pub(crate) fn release_all(&self) {
        self.slots.all().for_each(|slot| self.copy(slot));
        self.release_ready();
    }

    pub(crate) fn release_ready(&self) {
        while let Some(slot) = self.slots.take_ready() {
            self.release(slot);
            self.slots.put_spare(slot);
        }
    }

    fn copy(&self, slot: &Slot) {
        if slot.state.get() != SlotState::Complete || slot.is_released.get() {
            return;
        }
        // SAFETY: it is complete, and its future has not taken it: that changes the state.
        let task = unsafe { Task::of(self, slot) };
        match task.given_up() {
            Some(end) => {
                slot.given_up.set(Some(end));
                slot.state.set(SlotState::GivenUp);
            }
            None => slot.reply.set(Some(Box::new(task.reply()))),
        }
        task.leave();
        self.release(slot);
    }

    /// Takes the end of a task for its future, and frees the slot.
    ///
    /// # Panics
    /// When nothing has ended.
    pub(crate) fn take<'a>(&'a self, slot: &'a Slot) -> Response<'a> {
        if let Some(reply) = slot.reply.take() {
            self.slots.put_spare(slot);
            return Response::Held(*reply);
        }
        match (slot.state.get(), slot.given_up.get()) {
            (SlotState::Complete, _) => {
                slot.state.set(SlotState::Idle);
                // SAFETY: it was complete, and its new state keeps others from taking it.
                Response::of(unsafe { Task::of(self, slot) })
            }
            (SlotState::GivenUp, Some(end)) => {
                match slot.is_released.get() {
                    true => self.slots.put_spare(slot),
                    false => slot.state.set(SlotState::Dropped),
                }
                Response::GivenUp(end)
            }
            (state, _) => {
                unreachable!(
                    "only the future of a task that ended takes from its slot, which is {state:?}"
                )
            }
        }
    }

    /// Has a slot wake `cx` when its task completes.
    pub(crate) fn watch(&self, slot: &Slot, cx: &TaskContext<'_>) {
        if !slot.is_pending() {
            // It ended after the caller's last look.
            return cx.waker().wake_by_ref();
        }
        let known = slot.waker.take();
        if known.as_ref().is_some_and(|known| known.will_wake(cx.waker())) {
            slot.waker.set(known);
            return;
        }
        // Cloning and dropping wakers runs code of others, which may even complete the task.
        let waker = cx.waker().clone();
        if slot.is_pending() {
            slot.waker.set(Some(waker));
        } else {
            waker.wake();
        }
    }

    /// The future of a task is dropped.
    pub(crate) fn abandon(&self, slot: &Slot) {
        if !slot.is_pending() {
            return drop(self.take(slot));
        }
        slot.state.set(SlotState::Dropped);
        let waker = slot.waker.take();
        let forget = self.task_extensions().urom_worker_cmd_task_forget;
        // SAFETY: the task is live, and the worker's own. The library refuses an answered task,
        // which completes later.
        if forget.is_some_and(|forget| unsafe { forget(slot.command.as_ptr()) }.check().is_ok()) {
            self.slots.remove(slot);
            self.slots.put_spare(slot);
        }
        // It runs code of others.
        drop(waker);
    }

    /// Cancels a task. False when it was answered before.
    pub(crate) fn cancel(&self, slot: &Slot) -> bool {
        let state = slot.state.get();
        if !matches!(state, SlotState::Waiting | SlotState::Calling) {
            return false;
        }
        if let Some(cancel) = self.task_extensions().urom_worker_cmd_task_cancel {
            // SAFETY: the task is live, and the worker's own.
            return unsafe { cancel(slot.command.as_ptr()) }.check().is_ok();
        }
        self.give_up(slot, End::Cancelled);
        if state == SlotState::Calling {
            // The next progress calls back.
            self.engine.core().deadlines().note(Instant::now());
            self.engine.core().deadlines().check_next();
        }
        true
    }

    /// Ends a task that stays in flight, for its future or, later, its callback.
    fn give_up(&self, slot: &Slot, end: End) {
        slot.given_up.set(Some(end));
        slot.state.set(SlotState::GivenUp);
        if let Some(waker) = slot.waker.take() {
            waker.wake();
        }
    }

    /// Ends a task of a worker that was made before a fork, for its future here.
    #[cold]
    pub(crate) fn end_inherited(&self, slot: &Slot, why: Inherited) {
        slot.given_up.set(Some(End::Inherited(why)));
        slot.state.set(SlotState::GivenUp);
    }

    /// Sets how many nanoseconds the commands of a slot have; 0 for ever.
    #[cold]
    pub(crate) fn set_limit(&self, slot: &Slot, limit: u64) {
        slot.limit.set(limit);
        if let Some(set_deadline) = self.task_extensions().urom_worker_cmd_task_set_deadline {
            // SAFETY: the task is live, not in flight, and the worker's own.
            unsafe { set_deadline(slot.command.as_ptr(), limit) };
        }
    }

    /// Notes the deadline of a submitted task, unless the library has deadlines.
    #[cold]
    pub(crate) fn begin_limit(&self, slot: &Slot) {
        if self.library.keeps_slots() {
            return;
        }
        let at = Instant::now().checked_add(Duration::from_nanos(slot.limit.get()));
        slot.deadline.set(at);
        if let Some(at) = at {
            self.engine.core().deadlines().note(at);
        }
    }

    /// Why the completed command of a slot failed; empty without a reason of its plugin.
    pub(crate) fn why(&self, slot: &Slot) -> String {
        let get_failure = self.extensions().urom_worker_cmd_task_get_failure;
        let Some(get_failure) = get_failure else { return String::new() };
        let mut text = vec![0; LONGEST_FAILURE];
        let (task, room) = (slot.command.as_ptr().cast_const(), text.len());
        // SAFETY: the task is live, and the place has so much room.
        let len = unsafe { get_failure(task, text.as_mut_ptr().cast(), room) };
        text.truncate(len);
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Counts a late reply. Refusals and replies beyond the limit come without bytes. While the
    /// worker stops, a task without bytes ended with its worker and does not count.
    fn count(&self, counter: &Cell<u64>, task: &Task<'_>) {
        if task.has_response() || !self.is_winding_down() {
            counter.set(counter.get() + 1);
        }
    }

    /// How many tasks are in flight whose replies will be thrown away, and how many replies were.
    pub(crate) fn given_up(&self) -> GivenUp {
        if let Some(get) = self.task_extensions().urom_worker_get_given_up {
            let mut given_up = GivenUp::default();
            // SAFETY: the worker is live, and the pointer is to a local variable.
            unsafe { get(self.object(), &mut given_up) };
            return given_up;
        }
        let waiting = self.slots.all().filter(|slot| slot.is_given_up()).count() as u64;
        GivenUp { waiting, late: self.late_replies.get(), dropped: self.dropped_replies.get() }
    }
}

impl Timed for Owner {
    fn expire(&self, now: Instant) -> (bool, Option<Instant>) {
        let (mut moved, mut next) = (false, None);
        for slot in self.slots.all() {
            let waits = matches!(slot.state.get(), SlotState::Waiting | SlotState::Calling);
            match slot.deadline.get().filter(|_| waits) {
                Some(at) if at <= now => {
                    moved = true;
                    // A waker that panics must not keep the others waiting.
                    callback::guard(|| self.give_up(slot, End::TimedOut(slot.limit.get())));
                }
                Some(at) => next = Some(next.map_or(at, |next: Instant| next.min(at))),
                None => {}
            }
            if slot.state.get() == SlotState::GivenUp {
                moved |= slot.is_calling();
                callback::guard(|| self.deliver(slot, SlotState::GivenUp));
            }
        }
        (moved, next)
    }
}
