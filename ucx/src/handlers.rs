//! The handlers of active messages, and their callbacks from UCX. A message over the `self`
//! transport arrives inside the send, but handlers never nest: it waits until a running handler has
//! returned.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr;
use std::rc::Rc;

use ucx_sys::{self as sys, Zeroed};

use crate::am::{AmData, Message, Reply};
use crate::context::void;
use crate::features::Features;
use crate::handler_table::{HandlerState, RegisteredHandler};
use crate::rendezvous::Rendezvous;
use crate::status::{Result, Status, check};
use crate::worker::Worker;

/// The argument of UCX's callback; lives until another handler replaces it or the worker ends.
struct Handler<F> {
    /// An uncounted handle, because the worker owns this handler.
    worker: ManuallyDrop<Worker>,
    /// Accessed only by the code that changed the table's state from [`HandlerState::Idle`].
    call: UnsafeCell<Option<F>>,
}

trait MessageHandler: RegisteredHandler {
    fn worker(&self) -> &Worker;

    /// Calls the closure; a panic does not reach C.
    ///
    /// # Safety
    /// The caller has changed the state from idle, and no other call is running.
    unsafe fn run(&self, message: Message<'_>);
}

impl<F: FnMut(Message<'_>)> MessageHandler for Handler<F> {
    fn worker(&self) -> &Worker {
        &self.worker
    }

    #[inline(always)]
    unsafe fn run(&self, message: Message<'_>) {
        self.worker.inner().guard(|| {
            // SAFETY: the caller has exclusive access to the closure until this function returns.
            if let Some(call) = unsafe { &mut *self.call.get() } {
                call(message);
            }
        });
    }
}

impl<F: FnMut(Message<'_>)> RegisteredHandler for Handler<F> {
    unsafe fn clear(&self) {
        // SAFETY: the caller has exclusive access to the closure until this function returns.
        let call = unsafe { &mut *self.call.get() }.take();
        self.worker.inner().guard(|| drop(call));
    }
}

struct WaitingMessage {
    handler: *const dyn MessageHandler,
    header: Vec<u8>,
    bytes: Vec<u8>,
    rendezvous: Option<Rendezvous>,
    reply: Option<sys::ucp_ep_h>,
}

impl WaitingMessage {
    fn copy(handler: *const dyn MessageHandler, message: Message<'_>) -> WaitingMessage {
        let (bytes, rendezvous) = match message.data {
            AmData::Eager(bytes) => (bytes.to_vec(), None),
            AmData::Rendezvous(rendezvous) => (Vec::new(), Some(rendezvous)),
        };
        let reply = message.reply.map(|reply| reply.endpoint);
        WaitingMessage { handler, header: message.header.to_vec(), bytes, rendezvous, reply }
    }

    /// Calls the handler inside the message's callback, while the reply endpoint is valid.
    ///
    /// # Safety
    /// Same as [`MessageHandler::run`].
    unsafe fn run(mut self) {
        // SAFETY: handlers live while registered, and are never replaced inside a callback.
        let handler = unsafe { &*self.handler };
        let worker = handler.worker();
        let data = self.rendezvous.take().map_or(AmData::Eager(&self.bytes), AmData::Rendezvous);
        let reply = self.reply.map(|endpoint| Reply { worker, endpoint });
        // SAFETY: the caller changed the state from idle, so no other call uses the closure.
        unsafe { handler.run(Message { header: &self.header, data, reply }) };
    }
}

impl Worker {
    /// Calls `handler` for every active message with this id: `ucp_worker_set_am_recv_handler`.
    /// Replaces an earlier handler. UCX drops a message without a handler and logs it.
    ///
    /// [`progress`](Worker::progress) calls handlers one at a time. A message over `self` is
    /// handled inside the send, or, if a handler sends it, copied and handled later.
    ///
    /// The handler may send, start requests and drop endpoints; it cannot progress the worker, and
    /// must not hold a strong handle of it. If it panics, `progress` resumes the panic.
    ///
    /// # Errors
    /// `UNSUPPORTED` without [`Features::AM`], `BUSY` inside a handler; otherwise UCX's error.
    pub fn set_am_handler<F>(&self, id: u16, handler: F) -> Result<()>
    where
        F: FnMut(Message<'_>) + 'static,
    {
        let what = || format!("setting the handler of active message {id}");
        self.context().require(Features::AM, "setting the handler of an active message")?;
        if self.is_progressing() {
            return Err(Status::BUSY.during(what()));
        }
        // SAFETY: the worker owns the handler, and UCX calls it only inside a call on a handle.
        let worker = unsafe { Worker::borrowed(self.as_ptr()) };
        let handler = Rc::new(Handler { worker, call: UnsafeCell::new(Some(handler)) });
        let mut params = sys::ucp_am_handler_param_t::zeroed();
        params.field_mask = u64::from(
            sys::UCP_AM_HANDLER_PARAM_FIELD_ID
                | sys::UCP_AM_HANDLER_PARAM_FIELD_CB
                | sys::UCP_AM_HANDLER_PARAM_FIELD_ARG,
        );
        params.id = id.into();
        params.cb = Some(on_message::<F>);
        params.arg = void(Rc::as_ptr(&handler));
        // SAFETY: the worker is live, the mask names the set fields, the argument lives long
        // enough.
        check(unsafe { sys::ucp_worker_set_am_recv_handler(self.raw(), &params) }, what())?;
        let before = self.inner().handlers.by_id.borrow_mut().insert(id, handler);
        drop(before);
        Ok(())
    }
}

/// Makes a slice of a C pointer and length. The pointer may be null if the length is zero.
///
/// # Safety
/// Unless the length is zero, the bytes are valid for the lifetime.
#[inline]
unsafe fn bytes<'a>(start: *const c_void, length: usize) -> &'a [u8] {
    if length == 0 {
        return &[];
    }
    // SAFETY: the caller promises the bytes.
    unsafe { std::slice::from_raw_parts(start.cast(), length) }
}

/// Handles a complete message while no handler runs; the call of the closure is inlined.
unsafe extern "C" fn on_message<F: FnMut(Message<'_>) + 'static>(
    arg: *mut c_void,
    header: *const c_void,
    header_length: usize,
    data: *mut c_void,
    length: usize,
    param: *const sys::ucp_am_recv_param_t,
) -> sys::ucs_status_t {
    // SAFETY: `arg` is the registered handler, which outlives this call.
    let handler = unsafe { &*arg.cast::<Handler<F>>() };
    // SAFETY: UCX keeps its parameters valid during the callback.
    let param = unsafe { &*param };
    // SAFETY: UCX keeps `header_length` bytes valid during the callback.
    let header = unsafe { bytes(header, header_length) };
    let handlers = &handler.worker.inner().handlers;
    if is_announced(param) || handlers.state.get() != HandlerState::Idle {
        // SAFETY: all arguments are UCX's.
        return unsafe { on_rare_message(handler, header, data, length, param) };
    }
    // SAFETY: UCX keeps `length` bytes valid during the callback.
    let data = unsafe { bytes(data, length) };
    handlers.state.set(HandlerState::Running);
    handler.worker.inner().guard(|| {
        // SAFETY: the state was idle, so this call has exclusive access until it returns.
        if let Some(call) = unsafe { &mut *handler.call.get() } {
            // Constructed here so that the message stays in registers.
            call(Message {
                header,
                data: AmData::Eager(data),
                reply: reply(&handler.worker, param),
            });
        }
    });
    if handlers.state.get() == HandlerState::Waited {
        handlers.run_waiting();
    }
    handlers.state.set(HandlerState::Idle);
    sys::UCS_OK
}

/// Handles an announcement, or a message that arrives while a handler runs or the worker ends.
///
/// # Safety
/// `data`, `length` and `param` are UCX's arguments to the callback of this handler.
#[cold]
unsafe fn on_rare_message(
    handler: &(dyn MessageHandler + 'static),
    header: &[u8],
    data: *mut c_void,
    length: usize,
    param: &sys::ucp_am_recv_param_t,
) -> sys::ucs_status_t {
    let worker = handler.worker();
    let handlers = &worker.inner().handlers;
    let before = handlers.state.get();
    if before == HandlerState::Over {
        return sys::UCS_OK;
    }
    let announced = is_announced(param);
    let descriptor = if announced { data } else { ptr::null_mut() };
    let data = if announced {
        AmData::Rendezvous(Rendezvous::new(worker, descriptor, length))
    } else {
        // SAFETY: UCX keeps `length` bytes valid during the callback.
        AmData::Eager(unsafe { bytes(data, length) })
    };
    let message = Message { header, data, reply: reply(worker, param) };
    let kept = if before == HandlerState::Idle {
        handlers.state.set(HandlerState::Running);
        handlers.current.set(descriptor);
        // SAFETY: the state was idle.
        unsafe { handler.run(message) };
        handlers.run_waiting();
        handlers.state.set(HandlerState::Idle);
        // A dropped announcement has removed itself; UCX drops it when the callback returns OK.
        !handlers.current.replace(ptr::null_mut()).is_null()
    } else {
        let waiting = WaitingMessage::copy(handler, message);
        // SAFETY: the state is not idle when the table runs this; the earlier handler has returned.
        handlers.wait(move || unsafe { waiting.run() });
        announced
    };
    if kept { sys::UCS_INPROGRESS } else { sys::UCS_OK }
}

#[inline]
fn is_announced(param: &sys::ucp_am_recv_param_t) -> bool {
    param.recv_attr & u64::from(sys::UCP_AM_RECV_ATTR_FLAG_RNDV) != 0
}

#[inline]
fn reply<'a>(worker: &'a Worker, param: &sys::ucp_am_recv_param_t) -> Option<Reply<'a>> {
    let has_reply = param.recv_attr & u64::from(sys::UCP_AM_RECV_ATTR_FIELD_REPLY_EP) != 0;
    has_reply.then_some(Reply { worker, endpoint: param.reply_ep })
}
