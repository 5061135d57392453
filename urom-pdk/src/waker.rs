//! The wakers of slots.

use std::sync::{Arc, LazyLock};
use std::task::{RawWakerVTable, Wake, Waker};

use crate::bell::Bell;
use crate::woken::Woken;

/// What a slot's waker does: sets the slot's bit, and wakes the worker if that sleeps. It allocates
/// nothing and may run on any thread, at any time.
struct SlotWaker {
    woken: Arc<Woken>,
    bit: u64,
    bell: Arc<Bell>,
}

impl Wake for SlotWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.woken.set(self.bit) {
            self.bell.ring();
        }
    }
}

/// Never inlined: one place makes all of them, so they have one vtable.
#[inline(never)]
pub(crate) fn slot_waker(woken: &Arc<Woken>, bit: u64, bell: &Arc<Bell>) -> Waker {
    Waker::from(Arc::new(SlotWaker { woken: Arc::clone(woken), bit, bell: Arc::clone(bell) }))
}

/// Whether this waker is a slot's. `false` for one that may be costs a registration.
pub(crate) fn wakes_slot(waker: &Waker) -> bool {
    static OF_SLOTS: LazyLock<&'static RawWakerVTable> =
        LazyLock::new(|| slot_waker(&Arc::default(), 0, &Arc::default()).vtable());
    std::ptr::eq(waker.vtable(), *OF_SLOTS)
}
