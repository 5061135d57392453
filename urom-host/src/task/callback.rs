//! A task with a callback instead of a future, stored in the task's slot if it fits, else in a box.

use std::ptr::NonNull;
use std::time::Duration;

use urom_abi::protocol::{Reply, Request};

use crate::error::Result;
use crate::plugin::Plugin;
use crate::task::outcome::{self, Sent};
use crate::task::{Completion, TaskHandle, future};
use crate::worker::{CALLBACK_ROOM, Context, Slot, SlotState, Worker};

const ALIGNMENT: usize = 8;

struct StoredCallback<E, F> {
    echo: E,
    sent: Sent,
    callback: F,
}

impl<E, F> StoredCallback<E, F> {
    const INLINE: bool = size_of::<Self>() <= CALLBACK_ROOM && align_of::<Self>() <= ALIGNMENT;

    /// # Safety
    /// `memory` is [`CALLBACK_ROOM`] bytes, [`ALIGNMENT`]-aligned, that the caller owns.
    unsafe fn store(self, memory: NonNull<u64>) {
        if Self::INLINE {
            // SAFETY: it fits, as checked above.
            unsafe { memory.cast::<Self>().write(self) };
        } else {
            let boxed = Box::into_raw(Box::new(self));
            // SAFETY: a pointer fits.
            unsafe { memory.cast::<*mut Self>().write(boxed) };
        }
    }

    /// # Safety
    /// `memory` was written by [`store`](Self::store) and is taken only once.
    unsafe fn take(memory: NonNull<u64>) -> Self {
        if Self::INLINE {
            // SAFETY: `store` wrote it there.
            unsafe { memory.cast::<Self>().read() }
        } else {
            // SAFETY: `store` wrote the pointer there.
            let boxed = unsafe { memory.cast::<*mut Self>().read() };
            // SAFETY: it came from a box, and is taken once.
            *unsafe { Box::from_raw(boxed) }
        }
    }
}

#[inline]
pub(crate) fn submit_with<C, F>(
    plugin: &Plugin,
    worker: &Worker,
    command: &C,
    deadline: Option<Duration>,
    callback: F,
) -> Result<TaskHandle>
where
    C: Request,
    F: FnOnce(Result<C::Reply>) + 'static,
{
    Ok(future::submit(plugin, worker, command, deadline)?.on_complete(callback))
}

impl<R: Reply> Completion<R> {
    /// Replaces this future by a callback, which runs inside the progress call that completes the
    /// task, as with `submit_with`. For a complete task, it runs at once.
    pub fn on_complete(mut self, callback: impl FnOnce(Result<R>) + 'static) -> TaskHandle {
        let handle = self.in_flight.handle();
        if self.in_flight.is_complete() {
            let Completion { in_flight, echo, sent } = &mut self;
            let answer =
                in_flight.take(|context, slot| outcome::finish(context, *sent, slot, echo));
            callback(answer);
            return handle;
        }
        let Completion { mut in_flight, echo, sent } = self;
        in_flight.take(|_, slot| attach::<R, _>(slot, StoredCallback { echo, sent, callback }));
        handle
    }
}

impl<R: Reply> Completion<R> {
    /// The former name of [`on_complete`](Self::on_complete).
    #[deprecated(note = "renamed to `on_complete`")]
    pub fn then(self, callback: impl FnOnce(Result<R>) + 'static) -> TaskHandle {
        self.on_complete(callback)
    }
}

fn attach<R, F>(slot: &Slot, callback: StoredCallback<R::Echo, F>)
where
    R: Reply,
    F: FnOnce(Result<R>) + 'static,
{
    debug_assert!(slot.is_pending());
    // SAFETY: only the slot's `InFlight` uses the slot's memory for a callback, and only here.
    unsafe { callback.store(slot.callback()) };
    slot.deliver.set(Some(deliver::<R, F>));
    slot.state.set(SlotState::Calling);
    drop(slot.waker.take());
}

/// # Safety
/// Only once, for a slot that [`attach`] filled with the same types.
unsafe fn deliver<R, F>(context: &Context, slot: &Slot)
where
    R: Reply,
    F: FnOnce(Result<R>) + 'static,
{
    // SAFETY: `attach` stored these types there, and the caller delivers once.
    let StoredCallback { echo, sent, callback } =
        unsafe { StoredCallback::<R::Echo, F>::take(slot.callback()) };
    // This returns the task unless a payload keeps it, so that the callback can reuse it.
    let answer = outcome::finish(context, sent, slot, &echo);
    callback(answer);
}
