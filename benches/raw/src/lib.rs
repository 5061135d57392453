//! UCX active messages as a C program would use them: a request and a reply of fixed sizes between two processes,
//! with nothing on top. The kit's figures are ratios to this.
//!
//! One thread uses a [`Peer`] from beginning to end.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;

use ucx_sys as sys;

/// The size of a request: a command of 16 plugin bytes with DOCA's header of 24.
pub const REQUEST: &[u8] = &[0x5a; 40];
/// The size of a reply: a notification of 16 plugin bytes with DOCA's header of 32.
pub const REPLY: &[u8] = &[0xa5; 48];
/// Ends [`Peer::serve`] at the other end.
pub const STOP: &[u8] = &[0; 1];

const MESSAGE: u32 = 1;

/// What the receive callback counts.
#[derive(Debug, Default)]
struct Counters {
    received: Cell<u64>,
    stopped: Cell<bool>,
}

/// One end: a context, a worker, and an endpoint once it is connected.
#[derive(Debug)]
pub struct Peer {
    context: sys::ucp_context_h,
    worker: sys::ucp_worker_h,
    endpoint: sys::ucp_ep_h,
    counters: Box<Counters>,
}

fn check(what: &str, status: sys::ucs_status_t) -> Result<(), String> {
    if status == sys::UCS_OK { Ok(()) } else { Err(format!("{what} failed with UCX status {}", status.0)) }
}

unsafe extern "C" fn on_message(
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

unsafe extern "C" fn on_sent(request: *mut c_void, _status: sys::ucs_status_t, _user: *mut c_void) {
    // SAFETY: UCX calls this once for a request that it handed out, and nobody kept it.
    unsafe { sys::ucp_request_free(request) }
}

impl Peer {
    /// Starts UCX with active messages only, configured by the environment.
    ///
    /// # Errors
    /// Which call failed, and UCX's status.
    pub fn new() -> Result<Peer, String> {
        // SAFETY: a C structure of integers and pointers, for which zero is a value.
        let mut params: sys::ucp_params_t = unsafe { std::mem::zeroed() };
        params.field_mask = u64::from(sys::UCP_PARAM_FIELD_FEATURES);
        params.features = u64::from(sys::UCP_FEATURE_AM);
        let mut context = ptr::null_mut();
        // SAFETY: the parameters say which field is set; a null configuration is the environment's.
        check("ucp_init", unsafe { sys::ucp_init(&params, ptr::null(), &mut context) })?;

        let counters = Box::<Counters>::default();
        let mut peer = Peer { context, worker: ptr::null_mut(), endpoint: ptr::null_mut(), counters };
        // SAFETY: as above.
        let mut params: sys::ucp_worker_params_t = unsafe { std::mem::zeroed() };
        params.field_mask = u64::from(sys::UCP_WORKER_PARAM_FIELD_THREAD_MODE);
        params.thread_mode = sys::UCS_THREAD_MODE_SINGLE;
        // SAFETY: the context is live and the parameters say which field is set.
        check("ucp_worker_create", unsafe { sys::ucp_worker_create(context, &params, &mut peer.worker) })?;

        // SAFETY: as above.
        let mut handler: sys::ucp_am_handler_param_t = unsafe { std::mem::zeroed() };
        handler.field_mask = u64::from(
            sys::UCP_AM_HANDLER_PARAM_FIELD_ID
                | sys::UCP_AM_HANDLER_PARAM_FIELD_CB
                | sys::UCP_AM_HANDLER_PARAM_FIELD_ARG,
        );
        handler.id = MESSAGE;
        handler.cb = Some(on_message);
        handler.arg = ptr::from_ref::<Counters>(&peer.counters).cast_mut().cast();
        // SAFETY: the worker is live, and the counters live in a box that is dropped after it.
        check("ucp_worker_set_am_recv_handler", unsafe {
            sys::ucp_worker_set_am_recv_handler(peer.worker, &handler)
        })?;
        Ok(peer)
    }

    /// The address the other end connects to.
    ///
    /// # Errors
    /// UCX's status.
    pub fn address(&self) -> Result<Vec<u8>, String> {
        let (mut address, mut length) = (ptr::null_mut(), 0);
        // SAFETY: the worker is live and both results can be written to.
        let status = unsafe { sys::ucp_worker_get_address(self.worker, &mut address, &mut length) };
        check("ucp_worker_get_address", status)?;
        // SAFETY: UCX says that `length` bytes are there, until they are released below.
        let bytes = unsafe { std::slice::from_raw_parts(address.cast::<u8>(), length) }.to_vec();
        // SAFETY: the address came from this worker and is not used any more.
        unsafe { sys::ucp_worker_release_address(self.worker, address) };
        Ok(bytes)
    }

    /// Connects to the other end's address.
    ///
    /// # Errors
    /// UCX's status.
    pub fn connect(&mut self, address: &[u8]) -> Result<(), String> {
        // SAFETY: a C structure of integers and pointers, for which zero is a value.
        let mut params: sys::ucp_ep_params_t = unsafe { std::mem::zeroed() };
        // Without UCX's handling of lost peers, as the kit has it between two processes of one machine: with it, UCX
        // gives no shared memory to endpoints that are made from an address.
        params.field_mask = u64::from(sys::UCP_EP_PARAM_FIELD_REMOTE_ADDRESS);
        params.address = address.as_ptr().cast();
        // SAFETY: the worker is live; the address is one that the other end's UCX wrote.
        check("ucp_ep_create", unsafe { sys::ucp_ep_create(self.worker, &params, &mut self.endpoint) })
    }

    /// Sends a message that lives for ever.
    ///
    /// # Panics
    /// When UCX fails: a measurement with a lost message is none.
    #[inline]
    pub fn send(&self, message: &'static [u8]) {
        // SAFETY: a C structure of integers and pointers, for which zero is a value.
        let mut param: sys::ucp_request_param_t = unsafe { std::mem::zeroed() };
        param.op_attr_mask = sys::UCP_OP_ATTR_FIELD_CALLBACK;
        param.cb.send = Some(on_sent);
        // SAFETY: the endpoint is live, and the message outlives the request.
        let request = unsafe {
            sys::ucp_am_send_nbx(
                self.endpoint,
                MESSAGE,
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

    /// Lets UCX work.
    #[inline]
    pub fn progress(&self) {
        // SAFETY: the worker is live and used by this thread only.
        unsafe { sys::ucp_worker_progress(self.worker) };
    }

    /// Answers every request until [`STOP`] comes. Spins.
    pub fn serve(&self) {
        let mut answered = self.counters.received.get();
        while !self.counters.stopped.take() {
            self.progress();
            while answered < self.counters.received.get() {
                self.send(REPLY);
                answered += 1;
            }
        }
    }

    /// Makes `count` round trips with up to `depth` requests in flight, against an end that [serves](Self::serve).
    pub fn round_trips(&self, count: u64, depth: u64) {
        let first = self.counters.received.get();
        let mut sent = 0;
        loop {
            let answered = self.counters.received.get() - first;
            if answered == count {
                return;
            }
            while sent < count && sent - answered < depth {
                self.send(REQUEST);
                sent += 1;
            }
            self.progress();
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if !self.worker.is_null() {
            // Destroying the worker closes its endpoint.
            // SAFETY: the worker is live and nobody else uses it.
            unsafe { sys::ucp_worker_destroy(self.worker) };
        }
        // SAFETY: the context is live and its only worker is gone.
        unsafe { sys::ucp_cleanup(self.context) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_answered_until_the_stop() {
        let mut host = Peer::new().unwrap();
        let (tell, address) = std::sync::mpsc::channel();
        let (back, host_address) = std::sync::mpsc::channel::<Vec<u8>>();
        let server = std::thread::spawn(move || {
            let mut server = Peer::new().unwrap();
            tell.send(server.address().unwrap()).unwrap();
            server.connect(&host_address.recv().unwrap()).unwrap();
            server.serve();
        });
        back.send(host.address().unwrap()).unwrap();
        host.connect(&address.recv().unwrap()).unwrap();
        host.round_trips(100, 1);
        host.round_trips(1000, 64);
        assert_eq!(host.counters.received.get(), 1100);
        host.send(STOP);
        while !server.is_finished() {
            host.progress();
        }
        server.join().unwrap();
    }
}
