//! Endpoints: connections of a worker to a peer.

use std::cell::Cell;
use std::fmt;
use std::mem::ManuallyDrop;
use std::net::SocketAddr;
use std::ptr;
use std::rc::Rc;

use ucx_sys as sys;

use crate::address::WorkerAddress;
use crate::close::{Close, CloseMode};
use crate::context::void;
use crate::held::Held;
use crate::inner::Inner;
use crate::listener::ConnectionRequest;
use crate::request::{self, Completion, Request};
use crate::socket::CSocketAddr;
use crate::status::{Result, Status, check};
use crate::worker::Worker;
use crate::zeroed::Zeroed;

/// A name for an endpoint that can be compared: see [`Endpoint::id`].
///
/// ```
/// use std::collections::HashMap;
/// use ucx::{Endpoint, EndpointId};
///
/// /// The connections that a server has, to be found by the message that came.
/// #[derive(Default)]
/// struct Peers(HashMap<EndpointId, Endpoint>);
///
/// impl Peers {
///     fn add(&mut self, endpoint: Endpoint) {
///         self.0.insert(endpoint.id(), endpoint);
///     }
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EndpointId(usize);

impl EndpointId {
    pub(crate) fn of(raw: sys::ucp_ep_h) -> Self {
        EndpointId(raw.addr())
    }
}

type Hook = Box<dyn FnOnce(Status)>;

/// What UCX's error handler reaches. It lives until UCX has closed the endpoint.
pub(crate) struct Shared {
    worker: *const Inner,
    failed: Cell<Option<Status>>,
    hook: Cell<Option<Hook>>,
}

impl Shared {
    /// Drops the hook: nobody is interested any more.
    pub(crate) fn forget_hook(&self) {
        self.hook.set(None);
    }
}

/// UCX's error handler, mode PEER: notes the status and leaves the hook for the end of the round of progress.
unsafe extern "C" fn on_error(arg: *mut libc::c_void, _: sys::ucp_ep_h, status: sys::ucs_status_t) {
    // SAFETY: `arg` is the endpoint's `Shared`, which stays until the endpoint is closed.
    let shared = unsafe { &*arg.cast::<Shared>() };
    let status = Status::from_raw(status);
    shared.failed.set(Some(shared.failed.get().unwrap_or(status)));
    if let Some(hook) = shared.hook.take() {
        // SAFETY: the endpoint's worker is live.
        let inner = unsafe { &*shared.worker };
        inner.later(move |inner| {
            if !inner.is_closing() {
                hook(status);
            }
        });
    }
}

/// What an endpoint does about a peer that goes away: `ucp_err_handling_mode_t`.
///
/// ```
/// use ucx::{Endpoint, ErrorMode, Result, Worker, WorkerAddress};
///
/// /// Over shared memory, where nothing tells that a peer is gone.
/// fn neighbour(worker: &Worker, address: &WorkerAddress) -> Result<Endpoint> {
///     worker.endpoint().error_mode(ErrorMode::None).connect(address)
/// }
/// assert_eq!(ErrorMode::default(), ErrorMode::Peer);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ErrorMode {
    /// Requests end with an error, and the error hook is called: `UCP_ERR_HANDLING_MODE_PEER`.
    ///
    /// Only some transports can tell. Of those without a device `tcp` can, and an endpoint that was connected by socket
    /// address watches its peer by `tcp` while its data goes over shared memory. An endpoint to a worker address has no
    /// such help, and in this mode takes `tcp` for its data too, or fails with `UNREACHABLE` if there is none.
    #[default]
    Peer,
    /// Nothing: requests to a peer that is gone never end. Every transport can do this, so it is the way to connect to
    /// a worker address over shared memory. Such an endpoint is never closed by force.
    None,
}

/// A connection to a peer: `ucp_ep_h`.
///
/// Dropping it closes it: with [`ErrorMode::Peer`] by force, so what is not on the wire yet may be lost;
/// [`close`](Endpoint::close) with [`CloseMode::Flush`] loses nothing.
///
/// ```
/// use ucx::{CloseMode, Context, Features, Listener};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = Context::builder(Features::TAG).config("TLS", "tcp").build()?.worker()?;
/// let listener = Listener::bind(&server, "127.0.0.1:0".parse()?)?;
/// let client = Context::builder(Features::TAG).config("TLS", "tcp").build()?.worker()?;
/// let endpoint = client.connect_socket(listener.local_addr()?)?;
/// assert!(endpoint.worker().tag_probe(7, u64::MAX).is_none());
///
/// let sending = endpoint.tag_send(7, b"hello".to_vec());
/// let mut peers = Vec::new();
/// while !sending.is_done() {
///     // Both sides are in this program, so it has to move both.
///     client.progress();
///     server.progress();
///     if let Some(request) = listener.next() {
///         peers.push(server.endpoint().accept(request)?);
///     }
/// }
/// sending.wait().0?;
/// if endpoint.is_failed() {
///     println!("{:?} failed: {:?}", endpoint.id(), endpoint.error());
/// }
/// endpoint.close(CloseMode::Force).wait()?;
/// # Ok(())
/// # }
/// ```
pub struct Endpoint {
    raw: sys::ucp_ep_h,
    mode: ErrorMode,
    shared: Rc<Shared>,
    worker: Worker,
}

impl Worker {
    /// Connects to the worker with this address, with no error hook. See [`EndpointBuilder::connect`].
    ///
    /// # Errors
    ///
    /// As [`EndpointBuilder::connect`].
    ///
    /// ```
    /// use ucx::{Context, Features};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let worker = Context::builder(Features::TAG).config("TLS", "tcp").build()?.worker()?;
    /// let endpoint = worker.connect(&worker.address()?)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn connect(&self, address: &WorkerAddress) -> Result<Endpoint> {
        self.endpoint().connect(address)
    }

    /// Connects to a listener, with no error hook. See [`EndpointBuilder::connect_socket`].
    ///
    /// # Errors
    ///
    /// As [`EndpointBuilder::connect_socket`].
    ///
    /// ```
    /// use ucx::{Context, Features, Listener};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let worker = Context::builder(Features::TAG).config("TLS", "tcp").build()?.worker()?;
    /// let listener = Listener::bind(&worker, "127.0.0.1:0".parse()?)?;
    /// let endpoint = worker.connect_socket(listener.local_addr()?)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn connect_socket(&self, address: SocketAddr) -> Result<Endpoint> {
        self.endpoint().connect_socket(address)
    }

    /// Starts to describe an endpoint.
    pub fn endpoint(&self) -> EndpointBuilder {
        EndpointBuilder { worker: self.clone(), mode: ErrorMode::default(), hook: None }
    }
}

/// What an [`Endpoint`] is made from.
///
/// ```
/// use ucx::{Context, EndpointBuilder, ErrorMode, Features, Listener};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let worker = Context::builder(Features::TAG).config("TLS", "tcp").build()?.worker()?;
/// let listener = Listener::bind(&worker, "127.0.0.1:0".parse()?)?;
/// let builder: EndpointBuilder = worker.endpoint().on_error(|status| eprintln!("the peer is gone: {status}"));
/// let endpoint = builder.connect_socket(listener.local_addr()?)?;
///
/// // On the other side, which here is the same worker.
/// let mut request = None;
/// worker.progress_until(|| {
///     request = listener.next();
///     request.is_some()
/// });
/// let Some(request) = request else { unreachable!() };
/// let accepted = worker.endpoint().error_mode(ErrorMode::Peer).accept(request)?;
///
/// // Without a listener: to the address that a worker gave.
/// let by_address = worker.endpoint().connect(&worker.address()?)?;
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct EndpointBuilder {
    worker: Worker,
    mode: ErrorMode,
    hook: Option<Hook>,
}

impl EndpointBuilder {
    /// What to do about a peer that goes away; [`ErrorMode::Peer`] if this is not called.
    pub fn error_mode(mut self, mode: ErrorMode) -> Self {
        self.mode = mode;
        self
    }

    /// Calls `hook` when the peer is gone or the connection fails, from [`Worker::progress`] after UCX has returned, so
    /// it may do anything, also drop the endpoint. Not called with [`ErrorMode::None`]. It must not hold a strong handle of the worker or the endpoint.
    pub fn on_error(mut self, hook: impl FnOnce(Status) + 'static) -> Self {
        self.hook = Some(Box::new(hook));
        self
    }

    /// Connects to the worker with this address: `ucp_ep_create`. The connection itself is made by progress; whether
    /// it came about shows in the first request or in the error hook.
    ///
    /// # Errors
    ///
    /// `UNREACHABLE` when no transport reaches the peer, also when its UCX has another version (see
    /// [`wire_compatible`](crate::wire_compatible)); `INVALID_ADDR` or `INVALID_PARAM` for an address that was cut.
    pub fn connect(self, address: &WorkerAddress) -> Result<Endpoint> {
        let mut params = sys::ucp_ep_params_t::zeroed();
        params.field_mask = sys::UCP_EP_PARAM_FIELD_REMOTE_ADDRESS.into();
        params.address = address.raw();
        self.create(params, || format!("connecting to the worker at {address:?}"))
    }

    /// Connects to a [`Listener`](crate::Listener): `ucp_ep_create` with a socket address. Needs `tcp` among the
    /// transports. The connection itself is made by progress; that nobody listens there shows as `UNREACHABLE`,
    /// `REJECTED` or `CONNECTION_RESET` in the first request and in the error hook.
    ///
    /// # Errors
    ///
    /// What UCX finds wrong at once, such as that no transport can connect by socket address.
    pub fn connect_socket(self, address: SocketAddr) -> Result<Endpoint> {
        let socket = CSocketAddr::from(address);
        let mut params = sys::ucp_ep_params_t::zeroed();
        params.field_mask = u64::from(sys::UCP_EP_PARAM_FIELD_FLAGS | sys::UCP_EP_PARAM_FIELD_SOCK_ADDR);
        params.flags = sys::UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
        params.sockaddr = socket.raw();
        self.create(params, || format!("connecting to {address}"))
    }

    /// Accepts a connection that a listener of the same worker got: `ucp_ep_create` with a connection request.
    ///
    /// # Errors
    ///
    /// `INVALID_PARAM` for a request of another worker's listener; `UNREACHABLE` when no transport fits.
    pub fn accept(self, request: ConnectionRequest) -> Result<Endpoint> {
        if request.worker().as_ptr() != self.worker.as_ptr() {
            return Err(Status::INVALID_PARAM.during("accepting a connection of another worker's listener"));
        }
        let peer = request.peer();
        let mut params = sys::ucp_ep_params_t::zeroed();
        params.field_mask = sys::UCP_EP_PARAM_FIELD_CONN_REQUEST.into();
        // UCX takes the request over, also when this fails.
        params.conn_request = request.into_raw();
        self.create(params, || format!("accepting the connection of {peer:?}"))
    }

    fn create(self, mut params: sys::ucp_ep_params_t, what: impl FnOnce() -> String) -> Result<Endpoint> {
        let shared = Rc::new(Shared {
            worker: self.worker.as_ptr(),
            failed: Cell::new(None),
            hook: Cell::new(self.hook),
        });
        params.field_mask |=
            u64::from(sys::UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | sys::UCP_EP_PARAM_FIELD_ERR_HANDLER);
        params.err_mode = match self.mode {
            ErrorMode::Peer => sys::UCP_ERR_HANDLING_MODE_PEER,
            ErrorMode::None => sys::UCP_ERR_HANDLING_MODE_NONE,
        };
        params.err_handler.cb = Some(on_error);
        params.err_handler.arg = void(Rc::as_ptr(&shared));
        let mut raw = ptr::null_mut();
        // SAFETY: the worker is live, the mask names what is set, what it points to lives through the call, and the
        // error handler's argument until the endpoint is closed.
        let status = unsafe { sys::ucp_ep_create(self.worker.raw(), &params, &mut raw) };
        check(status, what())?;
        Ok(Endpoint { raw, mode: self.mode, shared, worker: self.worker })
    }
}

impl Endpoint {
    /// A name that differs from those of the worker's other open endpoints. Active messages with a reply endpoint carry
    /// it, so it tells which connection a message came by: [`Message::endpoint`](crate::Message::endpoint).
    #[must_use]
    pub fn id(&self) -> EndpointId {
        EndpointId::of(self.raw)
    }

    /// The worker it belongs to.
    #[must_use]
    pub fn worker(&self) -> &Worker {
        &self.worker
    }

    /// Whether UCX found the peer gone or the connection broken. A peer that is only stopped is not found out.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        self.error().is_some()
    }

    /// Why the endpoint failed, if it did.
    #[must_use]
    pub fn error(&self) -> Option<Status> {
        self.shared.failed.get()
    }

    /// Ends when everything sent, put or done on remote memory before on this endpoint has arrived:
    /// `ucp_ep_flush_nbx`.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let context = ucx::Context::builder(ucx::Features::TAG).config("TLS", "self").build()?;
    /// # let worker = context.worker()?;
    /// # let endpoint = worker.endpoint().error_mode(ucx::ErrorMode::None).connect(&worker.address()?)?;
    /// endpoint.tag_send(7, b"hello".to_vec()).detach();
    /// endpoint.flush().wait().0?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn flush(&self) -> Request<()> {
        let params = request::params(&self.worker);
        // SAFETY: the endpoint is live, the mask names what is set.
        let returned = unsafe { sys::ucp_ep_flush_nbx(self.raw, &params) };
        Request::started(&self.worker, returned, Completion::new(Status::OK), Held::new(()))
    }

    /// Closes the endpoint: `ucp_ep_close_nbx`. Goes on when the result is dropped. A failed endpoint is closed by
    /// force, one with [`ErrorMode::None`] never. Inside a handler nothing happens until the handler has returned.
    pub fn close(self, mode: CloseMode) -> Close {
        let mode = match self.mode {
            ErrorMode::Peer if self.is_failed() => CloseMode::Force,
            ErrorMode::Peer => mode,
            ErrorMode::None => CloseMode::Flush,
        };
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is never used or dropped again, so there is one owner as before.
        let shared = unsafe { ptr::read(&this.shared) };
        // SAFETY: as above.
        let worker = unsafe { ptr::read(&this.worker) };
        Close::new(this.raw, shared, worker, mode)
    }

    pub(crate) fn raw(&self) -> sys::ucp_ep_h {
        self.raw
    }

    /// What tells this endpoint from every other that ever was, unlike its id.
    pub(crate) fn shared(&self) -> &Rc<Shared> {
        &self.shared
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        let mode = match self.mode {
            ErrorMode::Peer => CloseMode::Force,
            ErrorMode::None => CloseMode::Flush,
        };
        drop(Close::new(self.raw, Rc::clone(&self.shared), self.worker.clone(), mode));
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("id", &self.id()).field("error", &self.error()).finish()
    }
}
