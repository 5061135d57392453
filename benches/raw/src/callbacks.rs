//! Callbacks of a peer for received and for sent messages.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;

use anyhow::Result;
use ucx_sys::{self as sys, Zeroed};

use crate::{PUT, STOP, check};

pub(crate) type Reply = (sys::ucp_ep_h, u32, &'static [u8]);

/// Counts of one sender's messages, which have their own active-message id.
#[derive(Debug)]
pub(crate) struct Counters {
    pub(crate) received: Cell<u64>,
    pub(crate) stopped: Cell<bool>,
    /// The reply [at once](crate::Style::AtOnce).
    pub(crate) reply: Cell<Option<Reply>>,
    /// The last message of this length, for [puts](crate::Style::Put).
    pub(crate) last: Cell<[u8; PUT]>,
}

impl Default for Counters {
    fn default() -> Counters {
        Counters {
            received: Cell::default(),
            stopped: Cell::default(),
            reply: Cell::default(),
            last: Cell::new([0; PUT]),
        }
    }
}

unsafe extern "C" fn on_message(
    arg: *mut c_void,
    _header: *const c_void,
    _header_length: usize,
    data: *mut c_void,
    length: usize,
    _param: *const sys::ucp_am_recv_param_t,
) -> sys::ucs_status_t {
    // SAFETY: the handler was registered with the peer's counters, which outlive its worker.
    let counters = unsafe { &*arg.cast::<Counters>() };
    if length == STOP.len() {
        counters.stopped.set(true);
        return sys::UCS_OK;
    }
    if length == PUT {
        // SAFETY: UCX guarantees `length` bytes at `data`.
        counters.last.set(unsafe { data.cast::<[u8; PUT]>().read_unaligned() });
    }
    counters.received.set(counters.received.get() + 1);
    if let Some((endpoint, number, reply)) = counters.reply.get() {
        // SAFETY: the endpoint lives while its peer serves, and the reply is static.
        unsafe { send(endpoint, number, reply) };
    }
    sys::UCS_OK
}

/// Sends an active message.
///
/// # Safety
/// The endpoint is live, and the message stays unchanged until UCX has sent it.
///
/// # Panics
/// If UCX fails.
#[inline]
pub(crate) unsafe fn send(endpoint: sys::ucp_ep_h, number: u32, message: &[u8]) {
    let mut param = sys::ucp_request_param_t::zeroed();
    param.op_attr_mask = sys::UCP_OP_ATTR_FIELD_CALLBACK;
    param.cb.send = Some(on_sent);
    let (header, bytes) = (ptr::null(), message.as_ptr().cast());
    // SAFETY: the caller promises the endpoint, and that the message outlives the request.
    let request =
        unsafe { sys::ucp_am_send_nbx(endpoint, number, header, 0, bytes, message.len(), &param) };
    assert!(
        !sys::UCS_PTR_IS_ERR(request),
        "ucp_am_send_nbx: UCX status {}",
        sys::UCS_PTR_STATUS(request).0
    );
}

unsafe extern "C" fn on_sent(request: *mut c_void, _status: sys::ucs_status_t, _user: *mut c_void) {
    // SAFETY: UCX calls this once for its own request, which only this call owns.
    unsafe { sys::ucp_request_free(request) }
}

pub(crate) fn receive(worker: sys::ucp_worker_h, number: u32, counters: &Counters) -> Result<()> {
    let mut handler = sys::ucp_am_handler_param_t::zeroed();
    handler.field_mask = u64::from(
        sys::UCP_AM_HANDLER_PARAM_FIELD_ID
            | sys::UCP_AM_HANDLER_PARAM_FIELD_CB
            | sys::UCP_AM_HANDLER_PARAM_FIELD_ARG,
    );
    handler.id = number;
    handler.cb = Some(on_message);
    handler.arg = ptr::from_ref(counters).cast_mut().cast();
    // SAFETY: the worker is live, and the counters live in a box that is dropped after it.
    check("ucp_worker_set_am_recv_handler", unsafe {
        sys::ucp_worker_set_am_recv_handler(worker, &handler)
    })
}
