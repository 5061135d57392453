//! The places where handlers run: pooled, address-stable slots that are used again and again.
//!
//! A slot holds one command at a time together with what its future borrows. Its waker is made once, and whoever keeps
//! a clone may do so for ever: waking a slot that has moved on to another command, or that is long gone, costs one
//! needless poll at most.

use std::cell::{Cell, UnsafeCell};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{self, Poll, Wake, Waker};

use urom_abi::shared::SharedCommand;

use crate::Context;

/// How many slots share one word of ready bits, and are allocated together.
pub(crate) const CHUNK: usize = u64::BITS as usize;

/// A place for one command and the future that answers it.
///
/// A future may borrow `context` and the bytes of the command in it for as long as it exists, so it comes first: fields
/// are dropped in order.
pub(crate) struct Slot<F> {
    future: UnsafeCell<Option<F>>,
    context: UnsafeCell<Option<Context>>,
    /// Whether `future` holds one. Looking there instead would be a shared reference to a future, which may hold
    /// exclusive references to its own parts.
    pending: Cell<bool>,
    waker: Waker,
}

impl<F: Future> Slot<F> {
    fn new(waker: Waker) -> Slot<F> {
        Slot {
            future: UnsafeCell::new(None),
            context: UnsafeCell::new(None),
            pending: Cell::new(false),
            waker,
        }
    }

    /// Puts the context of a command into this slot and makes the command's future of it and its bytes.
    ///
    /// A panic of `make` leaves the command here, without a future.
    ///
    /// # Safety
    /// The slot holds neither a future nor a command. It stays where it is until [`end`](Self::end) has been called or
    /// it is dropped. What `make` is given does not leave the future: `'static` stands for "as long as the future".
    pub(crate) unsafe fn begin(
        &self,
        context: Context,
        make: impl FnOnce(&'static Context, &'static [u8]) -> F,
    ) {
        // SAFETY: no future exists, so nothing borrows the place.
        unsafe { *self.context.get() = Some(context) };
        // SAFETY: the slot does not move, and `end` takes the context only when the future is gone.
        let context: &'static Option<Context> = unsafe { &*self.context.get() };
        let Some(context) = context else { return };
        let future = make(context, context.command().payload());
        // SAFETY: nothing refers to the place of a future that does not exist.
        unsafe { *self.future.get() = Some(future) };
        self.pending.set(true);
    }

    /// Polls the future where it is. Without one it is pending for ever.
    ///
    /// # Safety
    /// Not called by the future itself, and not again once it has panicked or was ready.
    pub(crate) unsafe fn poll(&self) -> Poll<F::Output> {
        // SAFETY: only one call is active, and nothing else touches the future meanwhile.
        let future = unsafe { &mut *self.future.get() };
        // SAFETY: from `begin` on the slot does not move, and the future leaves it only by being dropped in place.
        let future = unsafe { Pin::new_unchecked(future) };
        match future.as_pin_mut() {
            Some(future) => future.poll(&mut task::Context::from_waker(&self.waker)),
            None => Poll::Pending,
        }
    }

    /// Drops the future in place. The slot is without one afterwards even if the drop panics.
    ///
    /// # Safety
    /// Not called by the future itself.
    pub(crate) unsafe fn drop_future(&self) {
        self.pending.set(false);
        // SAFETY: as in `poll`.
        let future = unsafe { &mut *self.future.get() };
        // SAFETY: as in `poll`.
        unsafe { Pin::new_unchecked(future) }.set(None);
    }

    /// Takes the command out, unless a future still borrows it. The slot is free afterwards.
    ///
    /// # Safety
    /// Not called while [`begin`](Self::begin) runs.
    pub(crate) unsafe fn end(&self) -> Option<SharedCommand> {
        if self.pending.get() {
            return None;
        }
        // SAFETY: there is no future, and none is being made, so nothing borrows the place.
        let context = unsafe { &mut *self.context.get() }.take();
        context.map(Context::into_command)
    }

    /// Whether a future is here that could be polled.
    pub(crate) fn is_pending(&self) -> bool {
        self.pending.get()
    }
}

/// Slots that were allocated together, and the word that says which of them were woken.
pub(crate) struct Chunk<F> {
    ready: Arc<AtomicU64>,
    /// A vector that never grows. A `Box` would claim to be the only way to the slots whenever it is moved, but futures
    /// point into them.
    slots: Vec<Slot<F>>,
}

impl<F: Future> Chunk<F> {
    /// Free slots, none of them woken.
    pub(crate) fn new() -> Chunk<F> {
        let ready = Arc::new(AtomicU64::new(0));
        let waker =
            |index: usize| Waker::from(Arc::new(SlotWaker { ready: Arc::clone(&ready), bit: 1 << index }));
        let slots = (0..CHUNK).map(|index| Slot::new(waker(index))).collect();
        Chunk { ready, slots }
    }

    /// The slots, [`CHUNK`] of them.
    pub(crate) fn slots(&self) -> &[Slot<F>] {
        &self.slots
    }

    /// One bit for each slot that was woken since the last call.
    pub(crate) fn take_woken(&self) -> u64 {
        // Looking first keeps the line shared with the threads that wake: most of the time nothing is there.
        if self.ready.load(Ordering::Relaxed) == 0 { 0 } else { self.ready.swap(0, Ordering::Acquire) }
    }
}

/// What a slot's waker does: sets the slot's bit. It allocates nothing and may run on any thread, at any time.
struct SlotWaker {
    ready: Arc<AtomicU64>,
    bit: u64,
}

impl Wake for SlotWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ready.fetch_or(self.bit, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;

    use urom_abi::descriptor::CommandDesc;

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
                if polls < 3 { Poll::Pending } else { Poll::Ready(context.dest_id() + bytes.len() as u64) }
            }))
        };
        // SAFETY: the slot is fresh, the chunk stays in this frame, `make` keeps what it gets in the future.
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
    fn a_waker_may_outlive_its_slot_and_every_slot_after_it() {
        let chunk = Chunk::<Boxed>::new();
        let kept = chunk.slots()[0].waker.clone();
        kept.wake_by_ref();
        assert_eq!(chunk.take_woken(), 1);
        drop(chunk);
        kept.wake();
    }

    #[test]
    fn wakes_from_other_threads_are_all_seen() {
        let chunk = Chunk::<Boxed>::new();
        let wakers: Vec<Waker> = chunk.slots().iter().map(|slot| slot.waker.clone()).collect();
        let threads: Vec<_> = wakers.into_iter().map(|w| std::thread::spawn(move || w.wake())).collect();
        for thread in threads {
            thread.join().expect("waking does not panic");
        }
        assert_eq!(chunk.take_woken(), u64::MAX);
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
            Box::pin(poll_fn(move |_| if reads.0.is_empty() { Poll::Ready(0) } else { Poll::Pending }))
        };
        // SAFETY: the slot is fresh, the chunk stays in this frame, `make` keeps what it gets in the future.
        unsafe { chunk.slots()[0].begin(context(b"still here"), make) };
        // SAFETY: not called by the future.
        assert!(unsafe { chunk.slots()[0].poll() }.is_pending());
    }
}
