//! The handlers of active messages, and how UCX reaches them.
//!
//! A message that a worker sends to itself over the `self` transport arrives inside the send, so
//! possibly inside a handler that sends. Handlers never nest: such a message waits until the
//! running one has returned.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr;
use std::rc::Rc;

use ucx_sys::{self as sys, Zeroed};

use crate::am::{Data, Message, Reply};
use crate::context::void;
use crate::features::Features;
use crate::handler_table::{HandlerState, Registered};
use crate::rendezvous::Rendezvous;
use crate::status::{Result, Status, check};
use crate::worker::Worker;

/// The argument of UCX's callback. It lives until another handler replaces it or the worker ends.
struct Handler<F> {
    /// Not counted: the worker has this handler.
    worker: ManuallyDrop<Worker>,
    /// Only the owner of the table's state, once it is not [`HandlerState::Idle`], touches this.
    call: UnsafeCell<Option<F>>,
}

/// A handler of any closure, as messages see it.
trait Receives: Registered {
    fn worker(&self) -> &Worker;

    /// Calls the closure; its panic is kept from C.
    ///
    /// # Safety
    /// The caller has turned the state away from idle, and no other call is under way.
    unsafe fn run(&self, message: Message<'_>);
}

impl<F: FnMut(Message<'_>)> Receives for Handler<F> {
    fn worker(&self) -> &Worker {
        &self.worker
    }

    #[inline(always)]
    unsafe fn run(&self, message: Message<'_>) {
        self.worker.inner().guard(|| {
            // SAFETY: the caller has the closure for itself until this returns.
            if let Some(call) = unsafe { &mut *self.call.get() } {
                call(message);
            }
        });
    }
}

impl<F: FnMut(Message<'_>)> Registered for Handler<F> {
    unsafe fn clear(&self) {
        // SAFETY: the caller has the closure for itself until this returns.
        let call = unsafe { &mut *self.call.get() }.take();
        self.worker.inner().guard(|| drop(call));
    }
}

/// A message that arrived while a handler ran. It is a copy: UCX's bytes are there for the time of
/// its callback only.
struct WaitingMessage {
    handler: *const dyn Receives,
    header: Vec<u8>,
    bytes: Vec<u8>,
    rendezvous: Option<Rendezvous>,
    reply: Option<sys::ucp_ep_h>,
}

impl WaitingMessage {
    fn copy(handler: *const dyn Receives, message: Message<'_>) -> WaitingMessage {
        let (bytes, rendezvous) = match message.data {
            Data::Eager(bytes) => (bytes.to_vec(), None),
            Data::Rendezvous(rendezvous) => (Vec::new(), Some(rendezvous)),
        };
        let reply = message.reply.map(|reply| reply.endpoint);
        WaitingMessage { handler, header: message.header.to_vec(), bytes, rendezvous, reply }
    }

    /// Calls its handler, inside the callback during which it arrived: the endpoint to reply by is
    /// there until then.
    ///
    /// # Safety
    /// As [`Receives::run`].
    unsafe fn run(mut self) {
        // SAFETY: handlers live while they are registered, and none is replaced inside a callback.
        let handler = unsafe { &*self.handler };
        let worker = handler.worker();
        let data = self.rendezvous.take().map_or(Data::Eager(&self.bytes), Data::Rendezvous);
        let reply = self.reply.map(|endpoint| Reply { worker, endpoint });
        // SAFETY: the caller turned the state away from idle, so no other call has the closure.
        unsafe { handler.run(Message { header: &self.header, data, reply }) };
    }
}

impl Worker {
    /// Calls `handler` for every active message with this id: `ucp_worker_set_am_recv_handler`. It
    /// replaces an earlier handler. UCX drops a message without a handler, with a line in its log.
    ///
    /// Handlers are called from [`progress`](Worker::progress), one at a time. Only a message from
    /// this worker to itself over the `self` transport is handled inside the call that sends it. If
    /// a handler makes that call, the message is copied and handled as soon as the handler has
    /// returned.
    ///
    /// The handler may send, start other requests and drop endpoints; it cannot progress the
    /// worker. It must not hold a strong handle of the worker (see
    /// [`WeakWorker`](crate::WeakWorker)). If it panics, the message is dropped, and the panic goes
    /// on in the caller of `progress`.
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
        // SAFETY: the handler is the worker's, and UCX reaches it only inside a call on a handle of
        // the worker.
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
        // SAFETY: the worker is live, the mask names what is set, the argument lives until it is
        // replaced.
        check(unsafe { sys::ucp_worker_set_am_recv_handler(self.raw(), &params) }, what())?;
        // The borrow ends before the earlier handler is dropped.
        let before = self.inner().handlers.by_id.borrow_mut().insert(id, handler);
        drop(before);
        Ok(())
    }
}

/// The bytes that C gives as a pointer and a length. The pointer may be null for no bytes.
///
/// # Safety
/// Unless the length is zero, that many bytes are there and stay for the lifetime.
#[inline]
unsafe fn bytes<'a>(start: *const c_void, length: usize) -> &'a [u8] {
    if length == 0 {
        return &[];
    }
    // SAFETY: the caller promises the bytes.
    unsafe { std::slice::from_raw_parts(start.cast(), length) }
}

/// The path of a message that came whole, while no handler runs. The closure is known here, so it
/// is inlined; all else is in another function, which few messages need.
unsafe extern "C" fn on_message<F: FnMut(Message<'_>) + 'static>(
    arg: *mut c_void,
    header: *const c_void,
    header_length: usize,
    data: *mut c_void,
    length: usize,
    param: *const sys::ucp_am_recv_param_t,
) -> sys::ucs_status_t {
    // SAFETY: `arg` is the handler that is registered, which lives at least as long.
    let handler = unsafe { &*arg.cast::<Handler<F>>() };
    // SAFETY: UCX gives its parameters for the time of the callback.
    let param = unsafe { &*param };
    // SAFETY: UCX gives `header_length` bytes for the time of the callback.
    let header = unsafe { bytes(header, header_length) };
    let handlers = &handler.worker.inner().handlers;
    if is_announced(param) || handlers.state.get() != HandlerState::Idle {
        // SAFETY: all of it as UCX gave it.
        return unsafe { on_rare_message(handler, header, data, length, param) };
    }
    // SAFETY: UCX gives `length` bytes for the time of the callback.
    let data = unsafe { bytes(data, length) };
    handlers.state.set(HandlerState::Running);
    handler.worker.inner().guard(|| {
        // SAFETY: the state was idle, so the closure is this call's until it returns.
        if let Some(call) = unsafe { &mut *handler.call.get() } {
            // The message is made here because it is then never in memory.
            call(Message { header, data: Data::Eager(data), reply: reply(&handler.worker, param) });
        }
    });
    if handlers.state.get() == HandlerState::Waited {
        handlers.run_waiting();
    }
    handlers.state.set(HandlerState::Idle);
    sys::UCS_OK
}

/// As [`on_message`], for an announcement, and for a message that arrives while a handler runs or
/// the worker ends.
///
/// # Safety
/// `data`, `length` and `param` are what UCX gave to the callback of this handler.
#[cold]
unsafe fn on_rare_message(
    handler: &(dyn Receives + 'static),
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
        Data::Rendezvous(Rendezvous::new(worker, descriptor, length))
    } else {
        // SAFETY: UCX gives `length` bytes for the time of the callback.
        Data::Eager(unsafe { bytes(data, length) })
    };
    let message = Message { header, data, reply: reply(worker, param) };
    let kept = if before == HandlerState::Idle {
        handlers.state.set(HandlerState::Running);
        handlers.current.set(descriptor);
        // SAFETY: the state was idle.
        unsafe { handler.run(message) };
        handlers.run_waiting();
        handlers.state.set(HandlerState::Idle);
        // An announcement that was dropped meanwhile has taken itself out; UCX drops it when told
        // that all is done.
        !handlers.current.replace(ptr::null_mut()).is_null()
    } else {
        let waiting = WaitingMessage::copy(handler, message);
        // SAFETY: the table has turned the state away from idle when it runs this, and the handler
        // that ran has returned.
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
