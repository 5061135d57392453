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
pub(crate) struct Slot<F> {
    /// Initialised while `pending`.
    future: UnsafeCell<MaybeUninit<F>>,
    context: UnsafeCell<Option<Context>>,
    /// Whether `future` holds one. Looking there instead would be a shared reference to a future,
    /// which may hold exclusive references to its own parts.
    pending: Cell<bool>,
    waker: Waker,
    /// The free slot after this one, while this one is free.
    next_free: Cell<Option<NonNull<Slot<F>>>>,
}

impl<F: Future> Slot<F> {
    pub(crate) fn new(waker: Waker) -> Slot<F> {
        Slot {
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

    /// What wakes this slot, whatever is in it.
    #[cfg(test)]
    pub(crate) fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Whether a future is here that could be polled.
    pub(crate) fn is_pending(&self) -> bool {
        self.pending.get()
    }
}

impl<F> Slot<F> {
    /// The slot that the [pool](crate::pool::Pool) uses after this one.
    #[inline]
    pub(crate) fn next_free(&self) -> &Cell<Option<NonNull<Slot<F>>>> {
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

impl<F> Drop for Slot<F> {
    fn drop(&mut self) {
        // SAFETY: a future cannot own the slot it is in.
        unsafe { self.drop_future() };
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use urom_abi::descriptor::CommandDesc;

    use super::*;
    use crate::pool::Chunk;

    fn context(bytes: &[u8]) -> Context {
        Context::for_test(CommandDesc::new(7, 2, 99, bytes).expect("the C heap has room"))
    }

    type Boxed = Pin<Box<dyn Future<Output = u64>>>;

    #[test]
    fn a_future_reads_context_and_bytes_in_every_poll() {
        let chunk = Chunk::<Boxed>::new();
        let slot = &chunk.slots()[3];
        let make = |context: &'static Context, bytes: &'static [u8]| -> Boxed {
            let mut polls = 0;
            Box::pin(poll_fn(move |cx| {
                polls += 1;
                cx.waker().wake_by_ref();
                if polls < 3 {
                    Poll::Pending
                } else {
                    Poll::Ready(context.dest_id() + bytes.len() as u64)
                }
            }))
        };
        // SAFETY: the slot is fresh, the chunk stays in this frame, `make` keeps what it gets in
        // the future.
        unsafe { slot.begin(context(b"four"), make) };
        for _ in 0..2 {
            // SAFETY: not called by the future.
            assert!(unsafe { slot.poll() }.is_pending());
            assert_eq!(chunk.take_woken(), 1 << 3);
            assert_eq!(chunk.take_woken(), 0);
        }
        // SAFETY: `begin` does not run.
        assert!(unsafe { slot.end() }.is_none(), "the future still borrows the command");
        // SAFETY: not called by the future.
        assert_eq!(unsafe { slot.poll() }, Poll::Ready(11));
        // SAFETY: not called by the future.
        unsafe { slot.drop_future() };
        // SAFETY: `begin` does not run.
        assert_eq!(unsafe { slot.end() }.expect("the command").payload(), b"four");
        // SAFETY: as above.
        assert!(unsafe { slot.end() }.is_none());
    }

    #[test]
    fn a_slot_dropped_with_a_future_inside_drops_the_future_before_the_command() {
        struct Reads(&'static [u8]);
        impl Drop for Reads {
            fn drop(&mut self) {
                assert_eq!(self.0, b"still here");
            }
        }
        let chunk = Chunk::<Boxed>::new();
        let make = |_: &'static Context, bytes: &'static [u8]| -> Boxed {
            let reads = Reads(bytes);
            Box::pin(poll_fn(
                move |_| if reads.0.is_empty() { Poll::Ready(0) } else { Poll::Pending },
            ))
        };
        // SAFETY: the slot is fresh, the chunk stays in this frame, `make` keeps what it gets in
        // the future.
        unsafe { chunk.slots()[0].begin(context(b"still here"), make) };
        // SAFETY: not called by the future.
        assert!(unsafe { chunk.slots()[0].poll() }.is_pending());
    }
}
