//! A handle to a task that somebody else waits for.

use std::ptr::NonNull;
use std::rc::{Rc, Weak};

use crate::worker::{Owner, Slot};

/// A handle to cancel a task that a callback or a future elsewhere waits for.
///
/// `submit_with` of the generated tasks returns one, and
/// [`Completion::handle`](crate::Completion::handle) makes one. It keeps nothing alive, and
/// dropping it does nothing.
#[derive(Clone)]
pub struct TaskHandle {
    owner: Weak<Owner>,
    slot: NonNull<Slot>,
    /// Tells the task from later ones in the same slot.
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

    /// Gives the task up, as [`Completion::cancel`](crate::Completion::cancel) does; `false` when
    /// the task has ended already.
    ///
    /// A callback gets the error `SKIPPED` inside the next
    /// [`progress`](crate::ProgressEngine::progress) of the worker's engine, or soon after in a
    /// wait, and never inside this call. So this may be called anywhere. When it is called inside
    /// another callback, the progress call around that one counts as the next, unless that callback
    /// was itself told that its task is given up.
    pub fn cancel(&self) -> bool {
        let Some(owner) = self.owner.upgrade() else { return false };
        // SAFETY: the slot is one of this owner's, which is kept.
        let slot = unsafe { self.slot.as_ref() };
        owner.maker.is_here() && slot.serial.get() == self.serial && owner.cancel(slot)
    }
}

debug_fields!(TaskHandle, |_| {});
