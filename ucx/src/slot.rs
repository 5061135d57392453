//! This crate's part of UCX's pooled requests; passes a result from the callback to the handle.

use std::any::Any;
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::task::Waker;

use ucx_sys as sys;

use crate::status::Status;

/// How an operation ended.
#[derive(Clone, Copy)]
pub struct Completion {
    pub(crate) status: Status,
    pub(crate) length: usize,
    pub(crate) tag: u64,
}

impl Completion {
    pub(crate) const fn new(status: Status) -> Self {
        Completion { status, length: 0, tag: 0 }
    }
}

/// This crate's part of a pooled UCX request, reset to [`RequestSlot::new`] when freed.
pub(crate) struct RequestSlot {
    pub(crate) completion: Cell<Option<Completion>>,
    pub(crate) waker: Cell<Option<Waker>>,
    pub(crate) parked: Cell<Option<Box<dyn Any>>>,
}

impl RequestSlot {
    fn new() -> RequestSlot {
        RequestSlot { completion: Cell::new(None), waker: Cell::new(None), parked: Cell::new(None) }
    }

    pub(crate) unsafe extern "C" fn init(request: *mut c_void) {
        let slot = request.cast::<RequestSlot>();
        debug_assert!(slot.is_aligned(), "UCX aligns its requests to eight bytes or more");
        // SAFETY: UCX reserved `request_size` bytes here, the size of a slot.
        unsafe { slot.write(RequestSlot::new()) };
    }

    /// Resets the slot and returns the request to UCX.
    ///
    /// # Safety
    /// `slot` belongs to a request that UCX has completed, and is freed once.
    pub(crate) unsafe fn free(slot: NonNull<RequestSlot>) {
        // SAFETY: the slot is live until the request is freed below.
        let this = unsafe { slot.as_ref() };
        this.completion.set(None);
        this.waker.set(None);
        // SAFETY: the caller promises that this is the only free.
        unsafe { sys::ucp_request_free(slot.as_ptr().cast()) };
    }
}
