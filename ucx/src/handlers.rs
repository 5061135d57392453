//! The handlers of active messages, and how UCX reaches them.
//!
//! A message that a worker sends to itself over the `self` transport arrives inside the send, so also inside a handler
//! that sends. Handlers never nest for all that: such a message waits until the one that runs has returned.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::c_void;
use std::ptr;
use std::rc::Rc;

use ucx_sys as sys;

use crate::am::{Data, Message, Rendezvous, Reply};
use crate::context::{Features, void};
use crate::inner::Inner;
use crate::status::{Result, Status, check};
use crate::worker::Worker;
use crate::zeroed::Zeroed;

type Call = Box<dyn FnMut(Message<'_>)>;

/// The active-message handlers of a worker.
#[derive(Default)]
pub(crate) struct Handlers {
    by_id: RefCell<BTreeMap<u16, Rc<Handler>>>,
    /// Whether a handler runs, or what waits for its end.
    running: Cell<bool>,
    /// The announcement whose callback has not returned, unless it was dropped; of the one callback that runs handlers.
    current: Cell<*mut c_void>,
    /// What arrived while a handler ran; empty when none runs.
    waiting: RefCell<VecDeque<Waiting>>,
}

/// What UCX's callback reaches. It lives until another handler takes its place, or the worker is gone.
struct Handler {
    worker: *const Inner,
    call: RefCell<Option<Call>>,
}

impl Handler {
    fn run(&self, inner: &Inner, message: Message<'_>) {
        inner.guard(|| {
            if let Some(call) = self.call.borrow_mut().as_mut() {
                call(message);
            }
        });
    }
}

/// A message that arrived while a handler ran: a copy, because UCX's bytes are there for the time of its callback only.
struct Waiting {
    handler: *const Handler,
    header: Vec<u8>,
    bytes: Vec<u8>,
    rendezvous: Option<Rendezvous>,
    reply: Option<sys::ucp_ep_h>,
}

impl Waiting {
    fn copy(handler: &Handler, message: Message<'_>) -> Waiting {
        let (bytes, rendezvous) = match message.data {
            Data::Eager(bytes) => (bytes.to_vec(), None),
            Data::Rendezvous(rendezvous) => (Vec::new(), Some(rendezvous)),
        };
        let reply = message.reply.map(|reply| reply.endpoint);
        Waiting { handler, header: message.header.to_vec(), bytes, rendezvous, reply }
    }

    /// Calls its handler, inside the callback during which it arrived: the endpoint to reply by is there until then.
    fn run(mut self, worker: &Worker) {
        let data = self.rendezvous.take().map_or(Data::Eager(&self.bytes), Data::Rendezvous);
        let reply = self.reply.map(|endpoint| Reply { worker, endpoint });
        // SAFETY: handlers live while they are registered, and none is replaced inside a callback.
        let handler = unsafe { &*self.handler };
        handler.run(worker.inner(), Message { header: &self.header, data, reply });
    }
}

impl Handlers {
    /// Drops what the handlers own; UCX may call them once more, to no effect, while the worker ends.
    pub(crate) fn clear(&self, inner: &Inner) {
        let handlers: Vec<_> = self.by_id.borrow().values().cloned().collect();
        for handler in handlers {
            let call = handler.call.take();
            inner.guard(|| drop(call));
        }
    }

    /// Takes an announcement out whose callback has not returned, which then says that it is dropped. False when it has
    /// returned.
    pub(crate) fn take_announcement(&self, descriptor: *mut c_void) -> bool {
        let current = self.current.get() == descriptor;
        if current {
            self.current.set(ptr::null_mut());
        }
        current
    }

    fn next_waiting(&self) -> Option<Waiting> {
        self.waiting.borrow_mut().pop_front()
    }
}

impl Worker {
    /// Calls `handler` for every active message with this id: `ucp_worker_set_am_recv_handler`. It takes the place of an
    /// earlier handler. A message without a handler is dropped by UCX with a line in its log.
    ///
    /// Handlers are called from [`progress`](Worker::progress), and one at a time. Only a message from this worker to
    /// itself over the `self` transport is handled inside the call that sends it. When a handler makes that call, the
    /// message is copied and handled as soon as this handler has returned, so a handler that sends another such message
    /// each time it is called goes on for ever.
    ///
    /// The handler may send and start other requests, also drop endpoints; it cannot progress the worker. It must not
    /// hold a strong handle of the worker (see [`WeakWorker`](crate::WeakWorker)). If it panics, the message is dropped
    /// and the panic goes on in the caller of `progress`, the next one if the handler was not called from there.
    ///
    /// # Errors
    ///
    /// `UNSUPPORTED` without [`Features::AM`], `BUSY` inside a handler, else what UCX says.
    ///
    /// ```
    /// use std::cell::Cell;
    /// use std::rc::Rc;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let context = ucx::Context::builder(ucx::Features::AM).config("TLS", "self").build()?;
    /// # let worker = context.worker()?;
    /// # let endpoint = worker.endpoint().error_mode(ucx::ErrorMode::None).connect(&worker.address()?)?;
    /// let seen = Rc::new(Cell::new(0));
    /// let count = Rc::clone(&seen);
    /// worker.set_am_handler(1, move |message| count.set(count.get() + message.header.len()))?;
    /// endpoint.am_send(1, b"header", Vec::new()).detach();
    /// worker.progress_until(|| seen.get() == 6);
    /// worker.clear_am_handler(1)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_am_handler(&self, id: u16, handler: impl FnMut(Message<'_>) + 'static) -> Result<()> {
        let call: Call = Box::new(handler);
        let handler = Rc::new(Handler { worker: self.as_ptr(), call: RefCell::new(Some(call)) });
        self.register(id, Some(handler))
    }

    /// Takes the handler of this id away.
    ///
    /// # Errors
    ///
    /// As [`set_am_handler`](Worker::set_am_handler).
    pub fn clear_am_handler(&self, id: u16) -> Result<()> {
        self.register(id, None)
    }

    fn register(&self, id: u16, handler: Option<Rc<Handler>>) -> Result<()> {
        let what = || format!("setting the handler of active message {id}");
        self.context().require(Features::AM, "setting the handler of an active message")?;
        if self.is_progressing() {
            return Err(Status::BUSY.during(what()));
        }
        let mut params = sys::ucp_am_handler_param_t::zeroed();
        params.field_mask = u64::from(
            sys::UCP_AM_HANDLER_PARAM_FIELD_ID
                | sys::UCP_AM_HANDLER_PARAM_FIELD_CB
                | sys::UCP_AM_HANDLER_PARAM_FIELD_ARG,
        );
        params.id = id.into();
        if let Some(handler) = &handler {
            params.cb = Some(on_message);
            params.arg = void(Rc::as_ptr(handler));
        }
        // SAFETY: the worker is live, the mask names what is set, the argument lives until it is replaced.
        check(unsafe { sys::ucp_worker_set_am_recv_handler(self.raw(), &params) }, what())?;
        let mut by_id = self.inner().handlers.by_id.borrow_mut();
        let before = match handler {
            Some(handler) => by_id.insert(id, handler),
            None => by_id.remove(&id),
        };
        drop(by_id);
        drop(before);
        Ok(())
    }
}

/// The bytes that C gives as a pointer and a length, where the pointer may be null for no bytes.
///
/// # Safety
///
/// Unless the length is zero, that many bytes are there and stay for the lifetime.
unsafe fn bytes<'a>(start: *const c_void, length: usize) -> &'a [u8] {
    if length == 0 {
        return &[];
    }
    // SAFETY: the caller promises the bytes.
    unsafe { std::slice::from_raw_parts(start.cast(), length) }
}

unsafe extern "C" fn on_message(
    arg: *mut c_void,
    header: *const c_void,
    header_length: usize,
    data: *mut c_void,
    length: usize,
    param: *const sys::ucp_am_recv_param_t,
) -> sys::ucs_status_t {
    // SAFETY: `arg` is the handler that is registered, which lives at least as long.
    let handler = unsafe { &*arg.cast::<Handler>() };
    // SAFETY: UCX runs only inside a call on a handle of the worker.
    let worker = unsafe { Worker::borrowed(handler.worker) };
    let inner = worker.inner();
    if inner.is_closing() {
        return sys::UCS_OK;
    }
    // SAFETY: UCX gives its parameters for the time of the callback.
    let param = unsafe { &*param };
    let announced = param.recv_attr & u64::from(sys::UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
    let has_reply = param.recv_attr & u64::from(sys::UCP_AM_RECV_ATTR_FIELD_REPLY_EP) != 0;
    let descriptor = if announced { data } else { ptr::null_mut() };
    let data = if announced {
        Data::Rendezvous(Rendezvous { worker: Worker::clone(&worker), descriptor, length })
    } else {
        // SAFETY: UCX gives `length` bytes for the time of the callback.
        Data::Eager(unsafe { bytes(data, length) })
    };
    let message = Message {
        // SAFETY: UCX gives `header_length` bytes for the time of the callback.
        header: unsafe { bytes(header, header_length) },
        data,
        reply: has_reply.then_some(Reply { worker: &worker, endpoint: param.reply_ep }),
    };
    let handlers = &inner.handlers;
    let kept = if handlers.running.replace(true) {
        handlers.waiting.borrow_mut().push_back(Waiting::copy(handler, message));
        announced
    } else {
        handlers.current.set(descriptor);
        handler.run(inner, message);
        while let Some(waiting) = handlers.next_waiting() {
            waiting.run(&worker);
        }
        handlers.running.set(false);
        // An announcement that was dropped meanwhile has taken itself out; UCX drops it when told that all is done.
        !handlers.current.replace(ptr::null_mut()).is_null()
    };
    if kept { sys::UCS_INPROGRESS } else { sys::UCS_OK }
}
