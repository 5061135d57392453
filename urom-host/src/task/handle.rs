//! A handle to cancel a task.

use std::ptr::NonNull;
use std::rc::{Rc, Weak};

use crate::worker::{Owner, Slot};

/// A handle to cancel a task, from `submit_with` or [`handle`](crate::Completion::handle). It keeps
/// nothing alive, and dropping it does nothing.
#[derive(Clone)]
pub struct TaskHandle {
    owner: Weak<Owner>,
    slot: NonNull<Slot>,
    /// Distinguishes the task from later ones in the same slot.
    serial: u64,
}

impl TaskHandle {
    #[inline]
    pub(crate) fn new(owner: &Rc<Owner>, slot: &Slot) -> TaskHandle {
        TaskHandle {
            owner: Rc::downgrade(owner),
            slot: NonNull::from(slot),
            serial: slot.serial.get(),
        }
    }

    pub(crate) fn of_nothing() -> TaskHandle {
        TaskHandle { owner: Weak::new(), slot: NonNull::dangling(), serial: 0 }
    }

    /// Cancels as [`Completion::cancel`](crate::Completion::cancel). Returns `false` after the end.
    ///
    /// May be called anywhere. A callback gets the error `SKIPPED` inside the next
    /// [`progress`](crate::ProgressEngine::progress) of the worker's engine, or soon after in a
    /// wait, never inside this call. Inside another callback, the surrounding progress call counts
    /// as the next, unless that callback itself runs because of a cancel or a deadline.
    pub fn cancel(&self) -> bool {
        let Some(owner) = self.owner.upgrade() else { return false };
        // SAFETY: the slot belongs to this owner, which is kept.
        let slot = unsafe { self.slot.as_ref() };
        owner.maker.is_here() && slot.serial.get() == self.serial && owner.cancel(slot)
    }
}

debug_fields!(TaskHandle, |_| {});
