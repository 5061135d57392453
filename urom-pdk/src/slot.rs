//! Slots of handlers: each holds one command with its future.

use std::cell::{Cell, UnsafeCell};
use std::future::Future;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{self, Poll, Waker};

use urom_abi::shared::SharedCommand;

use crate::Context;

/// A slot for one command and its future, which borrows the command and is dropped first.
pub(crate) struct CommandSlot<F> {
    /// Initialised while `pending`.
    future: UnsafeCell<MaybeUninit<F>>,
    context: UnsafeCell<Option<Context>>,
    /// Whether `future` is initialised. Reading it would share its exclusive references.
    pending: Cell<bool>,
    waker: Waker,
    /// The next free slot while this slot is free.
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

    /// Makes the command's future. If `make` panics, the command stays here without a future.
    /// # Safety
    /// The slot is empty. It does not move until [`end`](Self::end) or its drop. The arguments of
    /// `make` do not leave the future: `'static` means "as long as the future".
    #[inline]
    pub(crate) unsafe fn begin(
        &self,
        context: Context,
        make: impl FnOnce(&'static Context, &'static [u8]) -> F,
    ) {
        // SAFETY: the slot is empty: the context is not borrowed, and `None` needs no drop.
        unsafe { self.context.get().write(Some(context)) };
        // SAFETY: the slot does not move, and `end` takes the context only after the future.
        let context: &'static Option<Context> = unsafe { &*self.context.get() };
        let Some(context) = context else { return };
        let future = make(context, context.command().payload());
        // SAFETY: without a future, there cannot be references to it.
        unsafe { self.future.get().write(MaybeUninit::new(future)) };
        self.pending.set(true);
    }

    /// Pending forever without a future.
    /// # Safety
    /// Not called by the future itself, and not again after it panicked or was ready.
    #[inline(always)]
    pub(crate) unsafe fn poll(&self) -> Poll<F::Output> {
        if !self.pending.get() {
            return Poll::Pending;
        }
        // SAFETY: only one call is active, and no other code accesses the future meanwhile.
        let future = unsafe { &mut *self.future.get() };
        // SAFETY: it is initialised while the slot is pending.
        let future = unsafe { future.assume_init_mut() };
        // SAFETY: the slot does not move after `begin`, and the future is dropped in place.
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
        // SAFETY: the context is not written while a future exists, which only shares it.
        unsafe { &*self.context.get() }.as_ref()
    }

    pub(crate) fn is_pending(&self) -> bool {
        self.pending.get()
    }
}

impl<F> CommandSlot<F> {
    #[inline]
    pub(crate) fn next_free(&self) -> &Cell<Option<NonNull<CommandSlot<F>>>> {
        &self.next_free
    }

    /// Takes the command out, unless a future still borrows it. The slot is then free.
    /// # Safety
    /// Not called while [`begin`](Self::begin) runs.
    #[inline]
    pub(crate) unsafe fn end(&self) -> Option<SharedCommand> {
        if self.pending.get() {
            return None;
        }
        // SAFETY: no future exists or is being made, so the context is not borrowed.
        let context = unsafe { &mut *self.context.get() }.take();
        context.map(Context::into_command)
    }

    /// Drops the future in place, even if the drop panics.
    /// # Safety
    /// Not called by the future itself.
    #[inline]
    pub(crate) unsafe fn drop_future(&self) {
        if !self.pending.replace(false) {
            return;
        }
        // SAFETY: only one call is active, and no other code accesses the future meanwhile.
        let future = unsafe { &mut *self.future.get() };
        // SAFETY: the slot was pending, so the future is initialised; it is not used afterwards.
        unsafe { future.assume_init_drop() };
    }
}

impl<F> Drop for CommandSlot<F> {
    fn drop(&mut self) {
        // SAFETY: a future cannot own its slot.
        unsafe { self.drop_future() };
    }
}
