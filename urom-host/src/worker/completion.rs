//! Delivers the end of a task to its future or callback, and ends tasks early. With a library other
//! than this project's, that ends only the future: the task stays in flight until its answer
//! arrives or the worker ends.

use std::cell::Cell;
use std::task::Context as TaskContext;
use std::time::{Duration, Instant};

use urom_abi::extension::LONGEST_FAILURE;
use urom_abi::host::Cancelled;
use urom_os::fork::Inherited;

use crate::callback;
use crate::engine::Timed;
use crate::task::{Response, Task};
use crate::worker::context::{Context, Owner, Slot};
use crate::worker::slots::{SlotState, TaskEnd};

impl Context {
    /// Handles completions except the usual case.
    /// # Safety
    /// The library has just completed the task of this slot, which belongs to this worker.
    #[cold]
    pub(crate) unsafe fn complete(&self, slot: &Slot) {
        // SAFETY: the task has completed, and the state set below keeps its future from it.
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
            state @ (SlotState::Cancelled | SlotState::Dropped) => {
                if slot.cancelled.get().is_some() {
                    self.count(&self.late_replies, &task);
                } else if !self.library.keeps_slots() {
                    self.count(&self.dropped_replies, &task);
                }
                if state == SlotState::Dropped {
                    return drop(Response::of(task));
                }
                task.leave();
                self.release(slot);
                self.deliver(slot, SlotState::Cancelled);
            }
            // A task completes once, and only these states are in flight.
            state => {
                debug_assert!(false, "a task completed that was {state:?}");
                task.leave();
            }
        }
    }

    fn deliver(&self, slot: &Slot, end: SlotState) {
        slot.state.set(end);
        if let Some(deliver) = slot.deliver.take() {
            // SAFETY: `deliver` was stored with its callback, and neither was taken.
            unsafe { deliver(self, slot) };
        }
    }

    /// Copies the untaken replies. Releases their tasks, and the ready tasks.
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
        // SAFETY: it is complete, and its future has not taken it, which would change the state.
        let task = unsafe { Task::of(self, slot) };
        match task.cancelled() {
            Some(end) => {
                slot.cancelled.set(Some(end));
                slot.state.set(SlotState::Cancelled);
            }
            None => slot.reply.set(Some(Box::new(task.reply()))),
        }
        task.leave();
        self.release(slot);
    }

    /// # Panics
    /// When nothing has ended.
    pub(crate) fn take<'a>(&'a self, slot: &'a Slot) -> Response<'a> {
        if let Some(reply) = slot.reply.take() {
            self.slots.put_spare(slot);
            return Response::Held(*reply);
        }
        match (slot.state.get(), slot.cancelled.get()) {
            (SlotState::Complete, _) => {
                slot.state.set(SlotState::Idle);
                // SAFETY: it was complete, and its new state keeps other code from taking it.
                Response::of(unsafe { Task::of(self, slot) })
            }
            (SlotState::Cancelled, Some(end)) => {
                match slot.is_released.get() {
                    true => self.slots.put_spare(slot),
                    false => slot.state.set(SlotState::Dropped),
                }
                Response::Cancelled(end)
            }
            (state, _) => {
                unreachable!(
                    "only the future of a task that ended takes from its slot, which is {state:?}"
                )
            }
        }
    }

    /// Makes a slot wake `cx` when its task completes.
    pub(crate) fn watch(&self, slot: &Slot, cx: &TaskContext<'_>) {
        if !slot.is_pending() {
            // It ended after the caller's last check.
            return cx.waker().wake_by_ref();
        }
        let known = slot.waker.take();
        if known.as_ref().is_some_and(|known| known.will_wake(cx.waker())) {
            slot.waker.set(known);
            return;
        }
        // Cloning and dropping wakers runs foreign code, which may even complete the task.
        let waker = cx.waker().clone();
        if slot.is_pending() {
            slot.waker.set(Some(waker));
        } else {
            waker.wake();
        }
    }

    pub(crate) fn abandon(&self, slot: &Slot) {
        if !slot.is_pending() {
            return drop(self.take(slot));
        }
        slot.state.set(SlotState::Dropped);
        let waker = slot.waker.take();
        let forget = self.task_extensions().urom_worker_cmd_task_forget;
        // SAFETY: the task is live and belongs to the worker. The library refuses an answered task,
        // which completes later.
        if forget.is_some_and(|forget| unsafe { forget(slot.command.as_ptr()) }.check().is_ok()) {
            self.slots.remove(slot);
            self.slots.put_spare(slot);
        }
        drop(waker);
    }

    /// Cancels a task. Returns `false` when it was already answered.
    pub(crate) fn cancel(&self, slot: &Slot) -> bool {
        let state = slot.state.get();
        if !matches!(state, SlotState::Waiting | SlotState::Calling) {
            return false;
        }
        if let Some(cancel) = self.task_extensions().urom_worker_cmd_task_cancel {
            // SAFETY: the task is live and belongs to the worker.
            return unsafe { cancel(slot.command.as_ptr()) }.check().is_ok();
        }
        self.give_up(slot, TaskEnd::Cancelled);
        if state == SlotState::Calling {
            self.engine.core().deadlines.note(Instant::now());
            self.engine.core().deadlines.check_next();
        }
        true
    }

    fn give_up(&self, slot: &Slot, end: TaskEnd) {
        slot.cancelled.set(Some(end));
        slot.state.set(SlotState::Cancelled);
        if let Some(waker) = slot.waker.take() {
            waker.wake();
        }
    }

    #[cold]
    pub(crate) fn end_inherited(&self, slot: &Slot, why: Inherited) {
        slot.cancelled.set(Some(TaskEnd::Inherited(why)));
        slot.state.set(SlotState::Cancelled);
    }

    /// Sets the nanoseconds for a slot's commands; 0 means no limit.
    #[cold]
    pub(crate) fn set_limit(&self, slot: &Slot, limit: u64) {
        slot.limit.set(limit);
        if let Some(set_deadline) = self.task_extensions().urom_worker_cmd_task_set_deadline {
            // SAFETY: the task is live, not in flight, and belongs to the worker.
            unsafe { set_deadline(slot.command.as_ptr(), limit) };
        }
    }

    #[cold]
    pub(crate) fn begin_limit(&self, slot: &Slot) {
        if self.library.keeps_slots() {
            return;
        }
        let at = Instant::now().checked_add(Duration::from_nanos(slot.limit.get()));
        slot.deadline.set(at);
        if let Some(at) = at {
            self.engine.core().deadlines.note(at);
        }
    }

    pub(crate) fn why(&self, slot: &Slot) -> String {
        let get_failure = self.extensions().urom_worker_cmd_task_get_failure;
        let Some(get_failure) = get_failure else { return String::new() };
        let mut text = vec![0; LONGEST_FAILURE];
        let (task, capacity) = (slot.command.as_ptr().cast_const(), text.len());
        // SAFETY: the task is live, and the buffer has `capacity` bytes.
        let len = unsafe { get_failure(task, text.as_mut_ptr().cast(), capacity) };
        text.truncate(len);
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Refusals and too long replies count although they lack bytes; but a task without bytes that
    /// ends while the worker stops is not a reply.
    fn count(&self, counter: &Cell<u64>, task: &Task<'_>) {
        if task.has_response() || !self.is_winding_down() {
            counter.set(counter.get() + 1);
        }
    }

    pub(crate) fn cancelled(&self) -> Cancelled {
        if let Some(get) = self.task_extensions().urom_worker_get_cancelled {
            let mut cancelled = Cancelled::default();
            // SAFETY: the worker is live, and the pointer is to a local variable.
            unsafe { get(self.object(), &mut cancelled) };
            return cancelled;
        }
        let waiting = self.slots.all().filter(|slot| slot.is_cancelled()).count() as u64;
        Cancelled { waiting, late: self.late_replies.get(), dropped: self.dropped_replies.get() }
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
                    // A panicking waker must not keep the other tasks waiting.
                    callback::guard(|| self.give_up(slot, TaskEnd::TimedOut(slot.limit.get())));
                }
                Some(at) => next = Some(next.map_or(at, |next: Instant| next.min(at))),
                None => {}
            }
            if slot.state.get() == SlotState::Cancelled {
                moved |= slot.deliver.get().is_some();
                callback::guard(|| self.deliver(slot, SlotState::Cancelled));
            }
        }
        (moved, next)
    }
}
