//! From the library's completion callback to the future that waits for it.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::task::Context as TaskContext;

use urom_abi::host::{CmdTask, Data};

use crate::task::{Response, Task};
use crate::thread;
use crate::worker::context::Context;
use crate::worker::slots::Slot;

/// A task's completion, for tasks that a future waits for: their task data is the number of the future's slot.
///
/// # Safety
/// Only for tasks of a worker that [`super::Owner`] created.
pub(crate) unsafe extern "C" fn on_complete(task: *mut CmdTask, task_data: Data, ctx_data: Data) {
    thread::guard(|| {
        // SAFETY: what the library hands to the callback of a worker of ours.
        let Some((context, task)) = (unsafe { parties(task, ctx_data) }) else { return };
        // SAFETY: the number is what `submit` set.
        let slot = unsafe { task_data.u64 };
        context.complete(slot as u32, task);
    });
}

/// The worker and the task of a completion.
///
/// # Safety
/// The arguments are those of a completion callback of a worker that [`super::Owner`] created.
pub(crate) unsafe fn parties<'a>(task: *mut CmdTask, ctx_data: Data) -> Option<(&'a Context, Task<'a>)> {
    // SAFETY: a worker's context data is a pointer.
    let context: *mut c_void = unsafe { ctx_data.ptr };
    let (context, task) = (NonNull::new(context.cast::<Context>())?, NonNull::new(task)?);
    // SAFETY: the context is freed after its worker is destroyed, and so after its last callback.
    let context = unsafe { context.as_ref() };
    // SAFETY: the task is complete, so it is the caller's again.
    let task = unsafe { Task::from_raw(context, task) };
    Some((context, task))
}

impl Context {
    fn complete(&self, slot: u32, task: Task<'_>) {
        let mut slots = self.slots.borrow_mut();
        let waker = match slots.get(slot) {
            Slot::Pending(waker) => {
                let waker = waker.take();
                *slots.get(slot) = match self.is_winding_down() {
                    true => Slot::Copied(Response::of(task).into_answer()),
                    false => Slot::Complete(task.into_raw()),
                };
                waker
            }
            // Its future is gone. Anything else cannot be: a task completes once.
            _ => {
                slots.remove(slot);
                None
            }
        };
        // Waking runs code that is not ours: it may take from the slots itself.
        drop(slots);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Copies the answers that no future has taken yet and releases their tasks.
    pub(crate) fn copy_complete(&self) {
        for slot in self.slots.borrow_mut().iter_mut() {
            if let Slot::Complete(task) = *slot {
                // SAFETY: a complete task in a slot is owned by that slot.
                let task = unsafe { Task::from_raw(self, task) };
                *slot = Slot::Copied(Response::of(task).into_answer());
            }
        }
    }

    /// Whether a slot's task is complete and its answer can be [taken](Self::take).
    pub(crate) fn is_complete(&self, slot: u32) -> bool {
        !matches!(self.slots.borrow_mut().get(slot), Slot::Pending(_))
    }

    /// Frees the slot of a complete task and gives out what it ended with.
    ///
    /// # Panics
    /// When the task is not complete.
    pub(crate) fn take(&self, slot: u32) -> Response<'_> {
        let outcome = self.slots.borrow_mut().remove(slot);
        match outcome {
            // SAFETY: a complete task in a slot is owned by that slot.
            Slot::Complete(task) => Response::of(unsafe { Task::from_raw(self, task) }),
            Slot::Copied(answer) => Response::copied(answer),
            Slot::Free(_) | Slot::Pending(_) | Slot::Abandoned => {
                unreachable!("only the future of a complete task takes from its slot")
            }
        }
    }

    /// Has a slot wake `cx` when its task completes.
    pub(crate) fn watch(&self, slot: u32, cx: &TaskContext<'_>) {
        let mut slots = self.slots.borrow_mut();
        let Slot::Pending(known) = slots.get(slot) else { return };
        if known.as_ref().is_some_and(|known| known.will_wake(cx.waker())) {
            return;
        }
        drop(slots);
        // Cloning and dropping wakers runs code that is not ours.
        let mut waker = Some(cx.waker().clone());
        if let Slot::Pending(known) = self.slots.borrow_mut().get(slot) {
            std::mem::swap(known, &mut waker);
        }
        drop(waker);
    }

    /// Lets go of a slot whose future is dropped.
    pub(crate) fn abandon(&self, slot: u32) {
        let mut slots = self.slots.borrow_mut();
        let outcome = match slots.get(slot) {
            pending @ Slot::Pending(_) => std::mem::replace(pending, Slot::Abandoned),
            _ => slots.remove(slot),
        };
        drop(slots);
        if let Slot::Complete(task) = outcome {
            // SAFETY: a complete task in a slot is owned by that slot.
            drop(unsafe { Task::from_raw(self, task) });
        }
    }
}
