//! Active messages: bytes that a handler at the peer gets.

use std::ffi::c_void;
use std::fmt;
use std::ops::BitOr;
use std::ptr;

use ucx_sys as sys;

use crate::buffer::{Buffer, BufferMut};
use crate::context::Features;
use crate::endpoint::{Endpoint, EndpointId};
use crate::held::Held;
use crate::request::{self, Completion, Request, complete};
use crate::status::Status;
use crate::worker::Worker;

/// How an active message travels: `enum ucp_send_am_flags`. Combine with `|`.
///
/// ```
/// use ucx::AmFlags;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let context = ucx::Context::builder(ucx::Features::AM).config("TLS", "self").build()?;
/// # let worker = context.worker()?;
/// # let endpoint = worker.endpoint().error_mode(ucx::ErrorMode::None).connect(&worker.address()?)?;
/// let flags = AmFlags::REPLY | AmFlags::EAGER;
/// let (sent, _) = endpoint.am_send_with(1, b"header", vec![0; 4096], flags).wait();
/// sent?;
/// # Ok(())
/// # }
/// ```
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
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let context = ucx::Context::builder(ucx::Features::AM).config("TLS", "self").build()?;
    /// # let worker = context.worker()?;
    /// # let endpoint = worker.endpoint().error_mode(ucx::ErrorMode::None).connect(&worker.address()?)?;
    /// let (sent, buffer) = endpoint.am_send(1, b"header", vec![1, 2, 3]).wait();
    /// sent?;
    /// assert_eq!(buffer, [1, 2, 3], "it comes back");
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    pub fn am_send<B: Buffer>(&self, id: u16, header: &[u8], data: B) -> Request<B> {
        self.am_send_with(id, header, data, AmFlags::NONE)
    }

    /// As [`am_send`](Endpoint::am_send), with flags.
    ///
    /// ```
    /// use ucx::AmFlags;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let context = ucx::Context::builder(ucx::Features::AM).config("TLS", "self").build()?;
    /// # let worker = context.worker()?;
    /// # let endpoint = worker.endpoint().error_mode(ucx::ErrorMode::None).connect(&worker.address()?)?;
    /// // The receiver decides when and where the bytes are fetched.
    /// let request = endpoint.am_send_with(1, &[], vec![0; 1 << 20], AmFlags::RENDEZVOUS);
    /// request.detach();
    /// # Ok(())
    /// # }
    /// ```
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

/// An active message, for the time of its handler.
///
/// ```
/// use std::cell::Cell;
/// use std::rc::Rc;
/// use ucx::{AmFlags, Data, Message};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let context = ucx::Context::builder(ucx::Features::AM).config("TLS", "self").build()?;
/// # let worker = context.worker()?;
/// # let endpoint = worker.endpoint().error_mode(ucx::ErrorMode::None).connect(&worker.address()?)?;
/// let answered = Rc::new(Cell::new(0));
/// let count = Rc::clone(&answered);
/// worker.set_am_handler(2, move |_| count.set(count.get() + 1))?;
/// worker.set_am_handler(1, |message: Message<'_>| {
///     let Data::Eager(bytes) = message.data else { return };
///     // There is a way back, because the sender asked for one.
///     if let Some(reply) = message.reply() {
///         reply.am_send(2, message.header, bytes.to_vec()).detach();
///     }
///     println!("by {:?}", message.endpoint());
/// })?;
/// endpoint.am_send_with(1, b"ping", vec![7], AmFlags::REPLY).detach();
/// worker.progress_until(|| answered.get() == 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Message<'a> {
    /// What the sender gave as header.
    pub header: &'a [u8],
    /// What the sender gave as data.
    pub data: Data<'a>,
    pub(crate) reply: Option<Reply<'a>>,
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
///
/// ```
/// use ucx::{Context, Data, Features};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let worker = Context::builder(Features::AM).config("TLS", "self").build()?.worker()?;
/// worker.set_am_handler(1, |message| match message.data {
///     Data::Eager(bytes) => println!("{} bytes are here", bytes.len()),
///     Data::Rendezvous(announced) => println!("{} bytes wait", announced.len()),
/// })?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub enum Data<'a> {
    /// The bytes, where UCX received them: no copy was made for this call.
    Eager(&'a [u8]),
    /// The announcement of bytes that are still at the sender.
    Rendezvous(Rendezvous),
}

/// The way back to the sender of a message, for the time of the handler. Requests made with it may last longer.
///
/// ```
/// use ucx::{AmFlags, Context, Features};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let worker = Context::builder(Features::AM).config("TLS", "self").build()?.worker()?;
/// worker.set_am_handler(1, |message| {
///     let Some(reply) = message.reply() else { return };
///     println!("answering by {:?}", reply.endpoint());
///     reply.am_send(2, &[], b"a short answer".to_vec()).detach();
///     // The answer to the answer needs a way back, too.
///     reply.am_send_with(3, &[], vec![0; 64], AmFlags::REPLY).detach();
/// })?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Reply<'a> {
    pub(crate) worker: &'a Worker,
    pub(crate) endpoint: sys::ucp_ep_h,
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
///
/// ```
/// use std::cell::RefCell;
/// use std::rc::Rc;
/// use ucx::{AmFlags, Data};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let context = ucx::Context::builder(ucx::Features::AM).config("TLS", "self").build()?;
/// # let worker = context.worker()?;
/// # let endpoint = worker.endpoint().error_mode(ucx::ErrorMode::None).connect(&worker.address()?)?;
/// let announced = Rc::new(RefCell::new(None));
/// let put = Rc::clone(&announced);
/// worker.set_am_handler(1, move |message| {
///     if let Data::Rendezvous(rendezvous) = message.data {
///         put.replace(Some(rendezvous));
///     }
/// })?;
/// let sending = endpoint.am_send_with(1, &[], vec![7; 100_000], AmFlags::RENDEZVOUS);
/// worker.progress_until(|| announced.borrow().is_some());
///
/// let Some(rendezvous) = announced.take() else { unreachable!() };
/// assert!(!rendezvous.is_empty());
/// let buffer = vec![0; rendezvous.len()];
/// let (received, buffer) = rendezvous.recv(buffer).wait();
/// assert_eq!((received?, buffer[99_999]), (100_000, 7));
/// sending.wait().0?;
/// # Ok(())
/// # }
/// ```
pub struct Rendezvous {
    pub(crate) worker: Worker,
    pub(crate) descriptor: *mut c_void,
    pub(crate) length: usize,
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
        if self.worker.inner().handlers.take_announcement(self.descriptor) {
            // Its callback has not returned; what that says to UCX drops the message.
            return;
        }
        // SAFETY: the callback told UCX that the descriptor is kept, and it is released once.
        unsafe { sys::ucp_am_data_release(self.worker.raw(), self.descriptor) };
    }
}

impl fmt::Debug for Rendezvous {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rendezvous({} bytes)", self.length)
    }
}
