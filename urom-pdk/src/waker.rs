//! The wakers of slots.

use std::sync::{Arc, LazyLock};
use std::task::{RawWakerVTable, Wake, Waker};

use crate::bell::Bell;
use crate::woken::Woken;

/// Sets the slot's bit and wakes a sleeping worker, on any thread, without an allocation.
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

/// Not inlined, so that all have one vtable.
#[inline(never)]
pub(crate) fn slot_waker(woken: &Arc<Woken>, bit: u64, bell: &Arc<Bell>) -> Waker {
    Waker::from(Arc::new(SlotWaker { woken: Arc::clone(woken), bit, bell: Arc::clone(bell) }))
}

/// Returns whether this waker is a slot's. A false negative only costs a registration.
pub(crate) fn wakes_slot(waker: &Waker) -> bool {
    static OF_SLOTS: LazyLock<&'static RawWakerVTable> =
        LazyLock::new(|| slot_waker(&Arc::default(), 0, &Arc::default()).vtable());
    std::ptr::eq(waker.vtable(), *OF_SLOTS)
}
