//! UCX active messages as a C program would use them: a request and a reply of fixed sizes between two processes,
//! with nothing on top. The kit's figures are ratios to this.
//!
//! One thread uses a [`Peer`] from beginning to end.

mod kind;
mod tag;

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::ptr;

use ucx_sys as sys;

pub use kind::{Kind, SETTINGS};
pub use tag::FORWARDED;

/// The size of a request: a command of 16 plugin bytes with DOCA's header of 24.
pub const REQUEST: &[u8] = &[0x5a; 40];
/// The size of a reply: a notification of 16 plugin bytes with DOCA's header of 32.
pub const REPLY: &[u8] = &[0xa5; 48];
/// Ends [`Peer::serve`] at the other end.
pub const STOP: &[u8] = &[0; 1];

/// How many may be connected to one that serves.
pub const MOST: usize = 8;

/// What the receive callback counts: the messages of one sender, which are known by their active-message id.
#[derive(Debug, Default)]
struct Counters {
    received: Cell<u64>,
    stopped: Cell<bool>,
    /// The last message, where [it is kept](Peer::keep).
    copy: RefCell<Vec<u8>>,
}

/// One end: a context, a worker, and endpoints as it is connected. One that asks has one endpoint, one that serves has one
/// for each of those.
#[derive(Debug)]
pub struct Peer {
    context: sys::ucp_context_h,
    worker: sys::ucp_worker_h,
    endpoints: Vec<sys::ucp_ep_h>,
    /// The active-message id of what it sends.
    number: u32,
    /// What it [sends from](Self::send_copied).
    task: RefCell<Vec<u8>>,
    /// By sender.
    counters: Box<[Counters; MOST]>,
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

/// UCX's `ucp_am_recv_callback_t`.
type OnMessage = unsafe extern "C" fn(
    *mut c_void,
    *const c_void,
    usize,
    *mut c_void,
    usize,
    *const sys::ucp_am_recv_param_t,
) -> sys::ucs_status_t;

/// The same, and keeps what came.
unsafe extern "C" fn on_message_to_copy(
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

unsafe extern "C" fn on_sent(request: *mut c_void, _status: sys::ucs_status_t, _user: *mut c_void) {
    // SAFETY: UCX calls this once for a request that it handed out, and nobody kept it.
    unsafe { sys::ucp_request_free(request) }
}

/// Has `on_message` count the messages of one sender.
fn receive(
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
    check("ucp_worker_set_am_recv_handler", unsafe { sys::ucp_worker_set_am_recv_handler(worker, &handler) })
}

impl Peer {
    /// Starts UCX, configured by the environment but for what its kind says. Those that ask one that serves are numbered in
    /// the order in which it connects to them, from 0; it is 0 itself.
    ///
    /// # Errors
    /// Which call failed, and UCX's status; a number that is too high.
    pub fn new(number: usize, kind: Kind) -> Result<Peer, String> {
        if number >= MOST {
            return Err(format!("peer {number} is one too many: there may be {MOST}"));
        }
        let context = kind.context()?;
        let mut peer = Peer {
            context,
            worker: ptr::null_mut(),
            endpoints: Vec::new(),
            number: number as u32,
            task: RefCell::default(),
            counters: Box::default(),
        };
        // SAFETY: a C structure of integers and pointers, for which zero is a value.
        let mut params: sys::ucp_worker_params_t = unsafe { std::mem::zeroed() };
        params.field_mask = u64::from(sys::UCP_WORKER_PARAM_FIELD_THREAD_MODE);
        params.thread_mode = sys::UCS_THREAD_MODE_SINGLE;
        // SAFETY: the context is live and the parameters say which field is set.
        check("ucp_worker_create", unsafe { sys::ucp_worker_create(context, &params, &mut peer.worker) })?;

        for (number, counters) in peer.counters.iter().enumerate() {
            receive(peer.worker, number as u32, counters, on_message)?;
        }
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

    /// Connects to another end's address.
    ///
    /// # Errors
    /// UCX's status.
    pub fn connect(&mut self, address: &[u8]) -> Result<(), String> {
        // SAFETY: a C structure of integers and pointers, for which zero is a value.
        let mut params: sys::ucp_ep_params_t = unsafe { std::mem::zeroed() };
        // As a program has it that asks UCX for nothing: without handling of lost peers, which the kit has.
        params.field_mask = u64::from(sys::UCP_EP_PARAM_FIELD_REMOTE_ADDRESS);
        params.address = address.as_ptr().cast();
        let mut endpoint = ptr::null_mut();
        // SAFETY: the worker is live; the address is one that the other end's UCX wrote.
        check("ucp_ep_create", unsafe { sys::ucp_ep_create(self.worker, &params, &mut endpoint) })?;
        self.endpoints.push(endpoint);
        Ok(())
    }

    /// Sends a message that lives for ever to whom it was connected first.
    ///
    /// # Panics
    /// When UCX fails, or it is not connected: a measurement with a lost message is none.
    #[inline]
    pub fn send(&self, message: &'static [u8]) {
        // SAFETY: it lives for ever.
        unsafe { self.send_on(self.endpoints[0], message) };
    }

    /// Sends a message to whom it was connected first from a copy, as a host's command is sent from its task's memory.
    ///
    /// # Safety
    /// What was sent so before is answered.
    ///
    /// # Panics
    /// As [`send`](Self::send).
    pub unsafe fn send_copied(&self, message: &[u8]) {
        let mut task = self.task.borrow_mut();
        task.clear();
        task.extend_from_slice(message);
        // SAFETY: the copy changes with the next one, when this was answered, as the caller promises, or goes after the worker.
        unsafe { self.send_on(self.endpoints[0], &task) };
    }

    /// # Safety
    /// The message stays as it is until UCX has sent it.
    #[inline]
    unsafe fn send_on(&self, endpoint: sys::ucp_ep_h, message: &[u8]) {
        // SAFETY: a C structure of integers and pointers, for which zero is a value.
        let mut param: sys::ucp_request_param_t = unsafe { std::mem::zeroed() };
        param.op_attr_mask = sys::UCP_OP_ATTR_FIELD_CALLBACK;
        param.cb.send = Some(on_sent);
        // SAFETY: the endpoint is live, and the caller promises that the message outlives the request.
        let request = unsafe {
            sys::ucp_am_send_nbx(
                endpoint,
                self.number,
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

    /// Sends a message that lives for ever on the endpoint that was connected as number `to`, from 0.
    ///
    /// # Panics
    /// As [`send`](Self::send).
    pub fn send_to(&self, to: usize, message: &'static [u8]) {
        // SAFETY: it lives for ever.
        unsafe { self.send_on(self.endpoints[to], message) };
    }

    /// Lets UCX work. Whether there was anything to do.
    #[inline]
    pub fn progress(&self) -> bool {
        // SAFETY: the worker is live and used by this thread only.
        unsafe { sys::ucp_worker_progress(self.worker) != 0 }
    }

    /// How many messages came from number `from`.
    ///
    /// # Panics
    /// When there can be none of that number.
    #[inline]
    pub fn received(&self, from: usize) -> u64 {
        self.counters[from].received.get()
    }

    /// Answers every request until [`STOP`] comes from number 0. Spins.
    pub fn serve(&self) {
        let mut answered = [0; MOST];
        for (answered, counters) in answered.iter_mut().zip(&*self.counters) {
            *answered = counters.received.get();
        }
        while !self.counters[0].stopped.take() {
            self.progress();
            for ((endpoint, counters), answered) in
                self.endpoints.iter().zip(&*self.counters).zip(&mut answered)
            {
                while *answered < counters.received.get() {
                    // SAFETY: it lives for ever.
                    unsafe { self.send_on(*endpoint, REPLY) };
                    *answered += 1;
                }
            }
        }
    }

    /// Makes `count` round trips with up to `depth` requests in flight, against an end that [serves](Self::serve).
    pub fn round_trips(&self, count: u64, depth: u64) {
        let received = &self.counters[0].received;
        let first = received.get();
        let mut sent = 0;
        loop {
            let answered = received.get() - first;
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
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn requests_of_several_are_answered_until_the_first_says_stop() {
        (0..Kind::COUNT as u64).filter_map(Kind::of).for_each(several);
    }

    fn several(kind: Kind) {
        let (tell, addresses) = channel::<Vec<u8>>();
        let (back, server_address) = channel();
        let server = std::thread::spawn(move || {
            let mut server = Peer::new(0, kind).unwrap();
            let address = server.address().unwrap();
            for _ in 0..2 {
                back.send(address.clone()).unwrap();
                server.connect(&addresses.recv().unwrap()).unwrap();
            }
            server.serve();
        });
        let hosts = [0, 1].map(|number| {
            let mut host = Peer::new(number, kind).unwrap();
            host.connect(&server_address.recv().unwrap()).unwrap();
            tell.send(host.address().unwrap()).unwrap();
            host
        });
        for depth in [1, 64] {
            for host in &hosts {
                host.round_trips(500, depth);
            }
        }
        assert_eq!(hosts.each_ref().map(|host| host.counters[0].received.get()), [1000, 1000]);
        hosts[0].send(STOP);
        while !server.is_finished() {
            hosts[0].progress();
        }
        server.join().unwrap();
    }

    #[test]
    fn a_number_that_is_too_high_is_refused() {
        assert!(Peer::new(MOST, Kind::default()).unwrap_err().contains("one too many"));
    }
}
