//! From the library's completion callback to the future or callback that waits for it.

use std::task::Context as TaskContext;

use urom_abi::DocaError;

use crate::task::{Response, Task};
use crate::worker::RawReply;
use crate::worker::context::{Context, Slot};
use crate::worker::slots::SlotState;

impl Context {
    /// Ends a task that the library has completed, for all but the usual case.
    ///
    /// # Safety
    /// The library has just completed the task of this slot, which is one of this worker's.
    pub(crate) unsafe fn complete(&self, slot: &Slot) {
        let state = slot.state.get();
        // SAFETY: the task has completed, and those who wait for it learn that from the state,
        // which still says that it is in flight.
        let Some(task) = (unsafe { Task::of(self, slot) }) else { return };
        match state {
            SlotState::Waiting | SlotState::Watched => {
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
            SlotState::Late => {
                self.count(&self.late_replies, &task);
                drop(Response::of(task));
            }
            // The future has the slot until it is polled.
            SlotState::Ended | SlotState::CallCancelled => {
                self.count(&self.late_replies, &task);
                task.leave();
                self.release(slot);
                slot.state.set(SlotState::EndedAndBack);
                if state == SlotState::CallCancelled {
                    self.deliver(slot, SlotState::EndedAndBack);
                }
            }
            SlotState::Dropped => {
                self.count(&self.dropped_replies, &task);
                drop(Response::of(task));
            }
            // A task completes once: nothing else is in flight.
            _ => {
                debug_assert!(false, "a task completed that was {state:?}");
                task.leave();
            }
        }
    }

    pub(crate) fn deliver(&self, slot: &Slot, end: SlotState) {
        slot.state.set(end);
        if let Some(deliver) = slot.deliver.take() {
            // SAFETY: it was there, so it was stored with its callback and none of the two was
            // taken.
            unsafe { deliver(self, slot) };
        }
    }

    /// Copies the replies that no future has taken yet, and releases their tasks and those that are
    /// ready for use.
    pub(crate) fn release_all(&self) {
        for slot in self.slots.iter().filter(|slot| slot.state.get() == SlotState::Complete) {
            self.copy(slot);
        }
        self.release_ready();
    }

    pub(crate) fn release_ready(&self) {
        while let Some(slot) = self.slots.take_ready() {
            self.release(slot);
            self.slots.put_empty(slot);
        }
    }

    fn copy(&self, slot: &Slot) {
        if slot.state.get() != SlotState::Complete {
            return;
        }
        // SAFETY: it is complete, and nobody has taken it, or the state would say so.
        let Some(task) = (unsafe { Task::of(self, slot) }) else { return };
        slot.reply.set(Some(task.reply()));
        task.leave();
        self.release(slot);
        slot.state.set(SlotState::Copied);
    }

    /// Takes the end of a task for its future, and frees the slot.
    ///
    /// # Panics
    /// When nothing has ended.
    #[inline]
    pub(crate) fn take<'a>(&'a self, slot: &'a Slot) -> Response<'a> {
        if slot.state.get() == SlotState::Complete
            // SAFETY: it is complete, and the state that it gets here says that it was taken.
            && let Some(task) = (unsafe { Task::of(self, slot) })
        {
            slot.state.set(SlotState::Held);
            return Response::of(task);
        }
        self.take_rare(slot)
    }

    #[cold]
    fn take_rare<'a>(&'a self, slot: &'a Slot) -> Response<'a> {
        match slot.state.get() {
            SlotState::Copied => {
                let reply = slot.reply.take();
                self.slots.put_empty(slot);
                let none =
                    RawReply { status: DocaError::UNEXPECTED, bytes: None, why: String::new() };
                Response::Held(reply.unwrap_or(none))
            }
            SlotState::Ended => {
                slot.state.set(SlotState::Late);
                Response::GivenUp(slot.end.get())
            }
            SlotState::EndedAndBack => {
                self.slots.put_empty(slot);
                Response::GivenUp(slot.end.get())
            }
            state => {
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
            slot.state.set(SlotState::Watched);
        } else {
            waker.wake();
        }
    }

    pub(crate) fn abandon(&self, slot: &Slot) {
        match slot.state.get() {
            SlotState::Waiting | SlotState::Watched => {
                self.tell_plugin(slot, false);
                slot.state.set(SlotState::Dropped);
                drop(slot.waker.take());
            }
            _ => drop(self.take(slot)),
        }
    }
}
