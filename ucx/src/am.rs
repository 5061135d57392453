//! Active messages: bytes that a handler at the peer gets.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::fmt;
use std::ops::BitOr;
use std::ptr;
use std::rc::Rc;

use ucx_sys as sys;

use crate::buffer::{Buffer, BufferMut};
use crate::context::{Features, void};
use crate::endpoint::{Endpoint, EndpointId};
use crate::inner::Inner;
use crate::request::{self, Completion, Held, Request, complete};
use crate::status::{Result, Status, check};
use crate::worker::Worker;
use crate::zeroed::Zeroed;

/// How an active message travels: `enum ucp_send_am_flags`. Combine with `|`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AmFlags(u32);

impl AmFlags {
    /// UCX chooses.
    pub const NONE: AmFlags = AmFlags(0);
    /// The handler can answer, and knows the endpoint that the message came by.
    pub const REPLY: AmFlags = AmFlags(sys::UCP_AM_SEND_FLAG_REPLY);
    /// The bytes come along with the message however many they are.
    pub const EAGER: AmFlags = AmFlags(sys::UCP_AM_SEND_FLAG_EAGER);
    /// The handler gets an announcement and fetches the bytes.
    pub const RENDEZVOUS: AmFlags = AmFlags(sys::UCP_AM_SEND_FLAG_RNDV);
}

impl BitOr for AmFlags {
    type Output = AmFlags;

    fn bitor(self, other: AmFlags) -> AmFlags {
        AmFlags(self.0 | other.0)
    }
}

impl Endpoint {
    /// Sends an active message to handler `id` of the peer: `ucp_am_send_nbx`.
    ///
    /// The header is copied when it is needed later, so it is only borrowed; it may have up to
    /// [`Worker::max_am_header`] bytes (`INVALID_PARAM` otherwise). With `()` as data there is a header only: a short
    /// message then needs no owned buffer at all. `data` is owned by the request until UCX has read it; a short message
    /// is usually done on return, and [`Request::into_done`] gives the buffer back for the next one.
    ///
    /// UCX keeps the order of messages only among those that it sends in one piece.
    #[inline]
    pub fn am_send<B: Buffer>(&self, id: u16, header: &[u8], data: B) -> Request<B> {
        self.am_send_with(id, header, data, AmFlags::NONE)
    }

    /// As [`am_send`](Endpoint::am_send), with flags.
    #[inline]
    pub fn am_send_with<B: Buffer>(&self, id: u16, header: &[u8], data: B, flags: AmFlags) -> Request<B> {
        // SAFETY: the endpoint is live, and of this worker.
        unsafe { send(self.worker(), self.raw(), id, header, data, flags) }
    }
}

/// # Safety
///
/// `endpoint` is a live endpoint of `worker`.
#[inline]
unsafe fn send<B: Buffer>(
    worker: &Worker,
    endpoint: sys::ucp_ep_h,
    id: u16,
    header: &[u8],
    data: B,
    flags: AmFlags,
) -> Request<B> {
    if !worker.features().contains(Features::AM) {
        return Request::failed(Status::UNSUPPORTED, data);
    }
    if header.len() > worker.max_am_header() {
        return Request::failed(Status::INVALID_PARAM, data);
    }
    let data = Held::new(data);
    let mut params = request::params_for(worker, data.get());
    params.op_attr_mask |= sys::UCP_OP_ATTR_FIELD_FLAGS;
    params.flags = flags.0 | if header.is_empty() { 0 } else { sys::UCP_AM_SEND_FLAG_COPY_HEADER };
    // SAFETY: the endpoint is live, UCX copies the header, the mask names what is set, and the request below owns the
    // data until UCX is done with it.
    let returned = unsafe {
        sys::ucp_am_send_nbx(
            endpoint,
            id.into(),
            header.as_ptr().cast(),
            header.len(),
            data.get().start().cast(),
            data.get().len(),
            &params,
        )
    };
    Request::started(worker, returned, Completion::new(Status::OK), data)
}

type Call = Box<dyn FnMut(Message<'_>)>;

/// The active-message handlers of a worker.
#[derive(Default)]
pub(crate) struct Handlers {
    by_id: RefCell<BTreeMap<u16, Rc<Handler>>>,
    /// The announcement whose handler runs.
    current: Cell<*mut c_void>,
}

/// What UCX's callback reaches. It lives until another handler takes its place, or the worker is gone.
struct Handler {
    worker: *const Inner,
    call: RefCell<Option<Call>>,
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
}

impl Worker {
    /// Calls `handler` from [`progress`](Worker::progress) for every active message with this id:
    /// `ucp_worker_set_am_recv_handler`. It takes the place of an earlier handler. A message without a handler is
    /// dropped by UCX with a line in its log.
    ///
    /// The handler may send and start other requests, also drop endpoints; it cannot progress the worker. It must not
    /// hold a strong handle of the worker (see [`WeakWorker`](crate::WeakWorker)). If it panics, the message is dropped
    /// and the panic goes on in the caller of `progress`.
    ///
    /// # Errors
    ///
    /// `UNSUPPORTED` without [`Features::AM`], `BUSY` inside a handler, else what UCX says.
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
    let data = if announced {
        inner.handlers.current.set(data);
        Data::Rendezvous(Rendezvous { worker: Worker::clone(&worker), descriptor: data, length })
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
    inner.guard(|| {
        if let Some(call) = handler.call.borrow_mut().as_mut() {
            call(message);
        }
    });
    // An announcement that was dropped in its handler has taken itself out; UCX drops it when told that all is done.
    let kept = announced && !inner.handlers.current.replace(ptr::null_mut()).is_null();
    if kept { sys::UCS_INPROGRESS } else { sys::UCS_OK }
}

/// An active message, for the time of its handler.
#[derive(Debug)]
pub struct Message<'a> {
    /// What the sender gave as header.
    pub header: &'a [u8],
    /// What the sender gave as data.
    pub data: Data<'a>,
    reply: Option<Reply<'a>>,
}

impl<'a> Message<'a> {
    /// The way back, when the sender gave [`AmFlags::REPLY`].
    #[must_use]
    pub fn reply(&self) -> Option<Reply<'a>> {
        self.reply
    }

    /// The endpoint that the message came by, when the sender gave [`AmFlags::REPLY`]. For a connection that was
    /// accepted from a listener it is the id of the accepted [`Endpoint`].
    #[must_use]
    pub fn endpoint(&self) -> Option<EndpointId> {
        self.reply.map(|reply| reply.endpoint())
    }
}

/// The data of an active message.
#[derive(Debug)]
pub enum Data<'a> {
    /// The bytes, where UCX received them: no copy was made for this call.
    Eager(&'a [u8]),
    /// The announcement of bytes that are still at the sender.
    Rendezvous(Rendezvous),
}

/// The way back to the sender of a message, for the time of the handler. Requests made with it may last longer.
#[derive(Clone, Copy)]
pub struct Reply<'a> {
    worker: &'a Worker,
    endpoint: sys::ucp_ep_h,
}

impl Reply<'_> {
    /// As [`Endpoint::am_send`].
    #[inline]
    pub fn am_send<B: Buffer>(&self, id: u16, header: &[u8], data: B) -> Request<B> {
        self.am_send_with(id, header, data, AmFlags::NONE)
    }

    /// As [`Endpoint::am_send_with`].
    #[inline]
    pub fn am_send_with<B: Buffer>(&self, id: u16, header: &[u8], data: B, flags: AmFlags) -> Request<B> {
        // SAFETY: UCX keeps the reply endpoint for the time of the handler, which this value cannot outlive, and
        // endpoints that are closed in a handler stay until it has returned.
        unsafe { send(self.worker, self.endpoint, id, header, data, flags) }
    }

    /// The endpoint's name.
    #[must_use]
    pub fn endpoint(&self) -> EndpointId {
        EndpointId::of(self.endpoint)
    }
}

impl fmt::Debug for Reply<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").field("endpoint", &self.endpoint()).finish()
    }
}

/// The announcement of an active message's data, which [`recv`](Rendezvous::recv) fetches. It may be kept beyond the
/// handler. Dropping it drops the message; the sender's request then ends as if it had arrived.
pub struct Rendezvous {
    worker: Worker,
    descriptor: *mut c_void,
    length: usize,
}

impl Rendezvous {
    /// How many bytes wait at the sender.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether no bytes wait.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Fetches the data into the first [`len`](Rendezvous::len) bytes of `buffer`: `ucp_am_recv_data_nbx`. Yields the
    /// number of bytes. A buffer that is too small comes back with `BUFFER_TOO_SMALL`, and the message is dropped.
    pub fn recv<B: BufferMut>(self, buffer: B) -> Request<B, usize> {
        if buffer.len() < self.length {
            return Request::failed(Status::BUFFER_TOO_SMALL, buffer);
        }
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: `this` is never used or dropped again, so there is one owner as before.
        let worker = unsafe { ptr::read(&this.worker) };
        let mut buffer = Held::new(buffer);
        let mut length = 0_usize;
        let mut params = request::params_for(&worker, buffer.get());
        params.op_attr_mask |= sys::UCP_OP_ATTR_FIELD_RECV_INFO;
        params.cb.recv_am = Some(on_data);
        params.recv_info.length = &raw mut length;
        // SAFETY: the descriptor is live and given up here; the mask names what is set; UCX writes the length before it
        // returns, and the request below owns the buffer until UCX is done with it.
        let returned = unsafe {
            sys::ucp_am_recv_data_nbx(
                worker.raw(),
                this.descriptor,
                buffer.get_mut().start_mut().cast(),
                this.length,
                &params,
            )
        };
        let immediate = Completion { length, ..Completion::new(Status::OK) };
        Request::started(&worker, returned, immediate, buffer)
    }
}

unsafe extern "C" fn on_data(
    request: *mut c_void,
    status: sys::ucs_status_t,
    length: usize,
    user_data: *mut c_void,
) {
    let completion = Completion { length, ..Completion::new(Status::from_raw(status)) };
    // SAFETY: this is the completion callback of a request made with `params`.
    unsafe { complete(request, user_data, completion) };
}

impl Drop for Rendezvous {
    fn drop(&mut self) {
        let current = &self.worker.inner().handlers.current;
        if current.get() == self.descriptor {
            // Still in its handler: what that returns to UCX drops the message.
            return current.set(ptr::null_mut());
        }
        // SAFETY: the handler told UCX that the descriptor is kept, and it is released once.
        unsafe { sys::ucp_am_data_release(self.worker.raw(), self.descriptor) };
    }
}

impl fmt::Debug for Rendezvous {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rendezvous({} bytes)", self.length)
    }
}
