//! The places where handlers run: a slot holds one command at a time together with what its future
//! borrows.

use std::cell::{Cell, UnsafeCell};
use std::future::Future;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{self, Poll, Waker};

use urom_abi::shared::SharedCommand;

use crate::Context;

/// A place for one command and the future that answers it.
///
/// A future may borrow `context` and the bytes of the command in it for as long as it exists, so it
/// is dropped first.
pub(crate) struct CommandSlot<F> {
    /// Initialised while `pending`.
    future: UnsafeCell<MaybeUninit<F>>,
    context: UnsafeCell<Option<Context>>,
    /// Whether `future` holds one. Looking there instead would be a shared reference to a future,
    /// which may hold exclusive references to its own parts.
    pending: Cell<bool>,
    waker: Waker,
    /// The free slot after this one, while this one is free.
    next_free: Cell<Option<NonNull<CommandSlot<F>>>>,
}

impl<F: Future> CommandSlot<F> {
    pub(crate) fn new(waker: Waker) -> CommandSlot<F> {
        CommandSlot {
            future: UnsafeCell::new(MaybeUninit::uninit()),
            context: UnsafeCell::new(None),
            pending: Cell::new(false),
            waker,
            next_free: Cell::new(None),
        }
    }

    /// Puts the context of a command into this slot and makes the command's future of it and its
    /// bytes.
    ///
    /// A panic of `make` leaves the command here, without a future.
    ///
    /// # Safety
    /// The slot holds neither a future nor a command. It stays where it is until [`end`](Self::end)
    /// has been called or it is dropped. What `make` is given does not leave the future: `'static`
    /// stands for "as long as the future".
    #[inline]
    pub(crate) unsafe fn begin(
        &self,
        context: Context,
        make: impl FnOnce(&'static Context, &'static [u8]) -> F,
    ) {
        // SAFETY: no future exists, so nothing borrows the place, and there is no command in it to
        // be dropped.
        unsafe { self.context.get().write(Some(context)) };
        // SAFETY: the slot does not move, and `end` takes the context only when the future is gone.
        let context: &'static Option<Context> = unsafe { &*self.context.get() };
        let Some(context) = context else { return };
        let future = make(context, context.command().payload());
        // SAFETY: nothing refers to the place of a future that does not exist.
        unsafe { self.future.get().write(MaybeUninit::new(future)) };
        self.pending.set(true);
    }

    /// Polls the future where it is. Without one it is pending for ever.
    ///
    /// # Safety
    /// Not called by the future itself, and not again once it has panicked or was ready.
    #[inline(always)]
    pub(crate) unsafe fn poll(&self) -> Poll<F::Output> {
        if !self.pending.get() {
            return Poll::Pending;
        }
        // SAFETY: only one call is active, and nothing else touches the future meanwhile.
        let future = unsafe { &mut *self.future.get() };
        // SAFETY: there is one while the slot is pending.
        let future = unsafe { future.assume_init_mut() };
        // SAFETY: from `begin` on the slot does not move, and the future leaves it only by being
        // dropped in place.
        let future = unsafe { Pin::new_unchecked(future) };
        future.poll(&mut task::Context::from_waker(&self.waker))
    }

    #[cfg(test)]
    pub(crate) fn waker(&self) -> &Waker {
        &self.waker
    }

    pub(crate) fn context(&self) -> Option<&Context> {
        if !self.pending.get() {
            return None;
        }
        // SAFETY: nobody writes to the place while there is a future, which only shares it.
        unsafe { &*self.context.get() }.as_ref()
    }

    pub(crate) fn is_pending(&self) -> bool {
        self.pending.get()
    }
}

impl<F> CommandSlot<F> {
    /// The slot that the [pool](crate::pool::Pool) uses after this one.
    #[inline]
    pub(crate) fn next_free(&self) -> &Cell<Option<NonNull<CommandSlot<F>>>> {
        &self.next_free
    }

    /// Takes the command out, unless a future still borrows it. The slot is free afterwards.
    ///
    /// # Safety
    /// Not called while [`begin`](Self::begin) runs.
    #[inline]
    pub(crate) unsafe fn end(&self) -> Option<SharedCommand> {
        if self.pending.get() {
            return None;
        }
        // SAFETY: there is no future, and none is being made, so nothing borrows the place.
        let context = unsafe { &mut *self.context.get() }.take();
        context.map(Context::into_command)
    }

    /// Drops the future in place. The slot is without one afterwards even if the drop panics.
    ///
    /// # Safety
    /// Not called by the future itself.
    #[inline]
    pub(crate) unsafe fn drop_future(&self) {
        if !self.pending.replace(false) {
            return;
        }
        // SAFETY: only one call is active, and nothing else touches the future meanwhile.
        let future = unsafe { &mut *self.future.get() };
        // SAFETY: the slot was pending, so there is one, and from now on it is not looked at.
        unsafe { future.assume_init_drop() };
    }
}

impl<F> Drop for CommandSlot<F> {
    fn drop(&mut self) {
        // SAFETY: a future cannot own the slot it is in.
        unsafe { self.drop_future() };
    }
}
