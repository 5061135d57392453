//! What UCX calls in a peer when a message comes, and when one is sent.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::ptr;

use ucx_sys as sys;

use crate::{STOP, check};

/// What the receive callback counts: the messages of one sender, which are known by their active-message id.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) received: Cell<u64>,
    pub(crate) stopped: Cell<bool>,
    /// The last message, where [it is kept](Peer::keep).
    pub(crate) copy: RefCell<Vec<u8>>,
    /// Where it is [answered at once](Style::ShortAtOnce): on which endpoint, with which id and what.
    pub(crate) answer: Cell<Option<(sys::ucp_ep_h, u32, &'static [u8])>>,
}

pub(crate) unsafe extern "C" fn on_message(
    arg: *mut c_void,
    _header: *const c_void,
    _header_length: usize,
    _data: *mut c_void,
    length: usize,
    _param: *const sys::ucp_am_recv_param_t,
) -> sys::ucs_status_t {
    // SAFETY: the handler was registered with the peer's counters, which outlive its worker.
    let counters = unsafe { &*arg.cast::<Counters>() };
    if length == STOP.len() {
        counters.stopped.set(true);
    } else {
        counters.received.set(counters.received.get() + 1);
    }
    sys::UCS_OK
}

/// UCX's `ucp_am_recv_callback_t`.
pub(crate) type OnMessage = unsafe extern "C" fn(
    *mut c_void,
    *const c_void,
    usize,
    *mut c_void,
    usize,
    *const sys::ucp_am_recv_param_t,
) -> sys::ucs_status_t;

/// The same, and keeps what came.
pub(crate) unsafe extern "C" fn on_message_to_copy(
    arg: *mut c_void,
    header: *const c_void,
    header_length: usize,
    data: *mut c_void,
    length: usize,
    param: *const sys::ucp_am_recv_param_t,
) -> sys::ucs_status_t {
    // SAFETY: as in `on_message`.
    let counters = unsafe { &*arg.cast::<Counters>() };
    // SAFETY: UCX says that `length` bytes are there until this returns.
    let message = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), length) };
    counters.copy.replace(message.to_vec());
    // SAFETY: with the arguments of this one, which has the same contract.
    unsafe { on_message(arg, header, header_length, data, length, param) }
}

/// The same, and answers.
pub(crate) unsafe extern "C" fn on_message_to_answer(
    arg: *mut c_void,
    header: *const c_void,
    header_length: usize,
    data: *mut c_void,
    length: usize,
    param: *const sys::ucp_am_recv_param_t,
) -> sys::ucs_status_t {
    // SAFETY: as in `on_message`.
    let counters = unsafe { &*arg.cast::<Counters>() };
    if let Some((endpoint, number, reply)) = counters.answer.get()
        && length != STOP.len()
    {
        // SAFETY: the endpoint is live while its peer serves, and a reply lives for ever.
        unsafe { send(endpoint, number, reply) };
    }
    // SAFETY: with the arguments of this one, which has the same contract.
    unsafe { on_message(arg, header, header_length, data, length, param) }
}

/// # Safety
/// The endpoint is live, and the message stays as it is until UCX has sent it.
///
/// # Panics
/// When UCX fails.
#[inline]
pub(crate) unsafe fn send(endpoint: sys::ucp_ep_h, number: u32, message: &[u8]) {
    // SAFETY: a C structure of integers and pointers, for which zero is a value.
    let mut param: sys::ucp_request_param_t = unsafe { std::mem::zeroed() };
    param.op_attr_mask = sys::UCP_OP_ATTR_FIELD_CALLBACK;
    param.cb.send = Some(on_sent);
    // SAFETY: the caller promises the endpoint, and that the message outlives the request.
    let request = unsafe {
        sys::ucp_am_send_nbx(
            endpoint,
            number,
            ptr::null(),
            0,
            message.as_ptr().cast(),
            message.len(),
            &param,
        )
    };
    assert!(
        !sys::UCS_PTR_IS_ERR(request),
        "ucp_am_send_nbx: UCX status {}",
        sys::UCS_PTR_STATUS(request).0
    );
}

unsafe extern "C" fn on_sent(request: *mut c_void, _status: sys::ucs_status_t, _user: *mut c_void) {
    // SAFETY: UCX calls this once for a request that it handed out, and nobody kept it.
    unsafe { sys::ucp_request_free(request) }
}

/// Has `on_message` count the messages of one sender.
pub(crate) fn receive(
    worker: sys::ucp_worker_h,
    number: u32,
    counters: &Counters,
    on_message: OnMessage,
) -> Result<(), String> {
    // SAFETY: a C structure of integers and pointers, for which zero is a value.
    let mut handler: sys::ucp_am_handler_param_t = unsafe { std::mem::zeroed() };
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
