//! Listeners: sockets on which a worker gets connections.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::mem::ManuallyDrop;
use std::net::SocketAddr;
use std::ptr;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll, Waker};

use libc::c_void;
use ucx_sys as sys;

use crate::context::void;
use crate::inner::Inner;
use crate::queues::Queues;
use crate::socket::{CSocketAddr, from_storage};
use crate::status::{Result, check};
use crate::worker::Worker;
use crate::zeroed::Zeroed;

/// A socket on which a worker gets connections: `ucp_listener_h`. Needs `tcp` among the transports of its clients.
///
/// Progress collects the connections; [`next`](Listener::next) hands them out, and
/// [`EndpointBuilder::accept`](crate::EndpointBuilder::accept) makes endpoints of them. When it is dropped, the
/// connections that it still has and those that come later are refused. The port is given back with the worker: UCX
/// cannot close a listener while a connection may be arriving.
///
/// ```
/// use ucx::{Context, Endpoint, Features, Listener, Worker};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let worker = Context::builder(Features::AM).config("TLS", "tcp").build()?.worker()?;
/// let listener = Listener::bind(&worker, "127.0.0.1:0".parse()?)?;
/// println!("listening on {}", listener.local_addr()?);
/// while let Some(request) = listener.next() {
///     worker.endpoint().accept(request)?;
/// }
///
/// /// The same for a program that is made of futures.
/// async fn serve(worker: &Worker, listener: &Listener, peers: &mut Vec<Endpoint>) -> ucx::Result<()> {
///     loop {
///         let request = listener.connection().await; // or poll_fn(|cx| listener.poll_next(cx))
///         peers.push(worker.endpoint().accept(request)?);
///     }
/// }
/// # Ok(())
/// # }
/// ```
pub struct Listener {
    raw: sys::ucp_listener_h,
    queue: Rc<Queue>,
    worker: Worker,
}

/// A listener, for the worker that destroys it at its own end.
pub(crate) struct Open {
    raw: sys::ucp_listener_h,
    queue: Rc<Queue>,
}

impl Open {
    /// Ends the listener, just before its worker.
    pub(crate) fn destroy(self) {
        // SAFETY: the listener is live, no handle of it or its requests is left, and it is destroyed once.
        unsafe { sys::ucp_listener_destroy(self.raw) };
        drop(self.queue);
    }
}

/// What UCX's connection handler reaches.
struct Queue {
    requests: RefCell<VecDeque<sys::ucp_conn_request_h>>,
    waker: Cell<Option<Waker>>,
    worker: *const Inner,
    /// The listener, once its handle was dropped.
    refusing: Cell<Option<sys::ucp_listener_h>>,
}

unsafe extern "C" fn on_connection(request: sys::ucp_conn_request_h, arg: *mut c_void) {
    // SAFETY: `arg` is the listener's queue, which outlives the listener.
    let queue = unsafe { &*arg.cast::<Queue>() };
    if let Some(listener) = queue.refusing.get() {
        // SAFETY: a request of this listener, which is live.
        unsafe { sys::ucp_listener_reject(listener, request) };
        return;
    }
    queue.requests.borrow_mut().push_back(request);
    // SAFETY: the listener's worker is live.
    let worker = unsafe { &*queue.worker };
    if let Some(waker) = queue.waker.take() {
        worker.guard(|| waker.wake());
    }
}

impl Listener {
    /// Listens on `address`; port 0 picks a free one, which [`local_addr`](Listener::local_addr) tells.
    ///
    /// # Errors
    ///
    /// `BUSY` for an address in use, `IO_ERROR` for one that is not of this machine.
    pub fn bind(worker: &Worker, address: SocketAddr) -> Result<Listener> {
        let socket = CSocketAddr::from(address);
        let queue = Rc::new(Queue {
            requests: RefCell::default(),
            waker: Cell::new(None),
            worker: worker.as_ptr(),
            refusing: Cell::new(None),
        });
        let mut params = sys::ucp_listener_params_t::zeroed();
        params.field_mask = u64::from(
            sys::UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | sys::UCP_LISTENER_PARAM_FIELD_CONN_HANDLER,
        );
        params.sockaddr = socket.raw();
        params.conn_handler.cb = Some(on_connection);
        params.conn_handler.arg = void(Rc::as_ptr(&queue));
        let mut raw = ptr::null_mut();
        // SAFETY: the worker is live, the mask names what is set, the worker keeps the queue as long as the listener.
        let status = unsafe { sys::ucp_listener_create(worker.raw(), &params, &mut raw) };
        check(status, format!("listening on {address}"))?;
        worker.inner().keep_listener(Open { raw, queue: Rc::clone(&queue) });
        Ok(Listener { raw, queue, worker: worker.clone() })
    }

    /// The address it listens on, with the port that was picked: `ucp_listener_query`.
    ///
    /// # Errors
    ///
    /// What UCX says.
    pub fn local_addr(&self) -> Result<SocketAddr> {
        let mut attributes = sys::ucp_listener_attr_t::zeroed();
        attributes.field_mask = sys::UCP_LISTENER_ATTR_FIELD_SOCKADDR.into();
        // SAFETY: the listener is live, the mask names what UCX may write.
        let status = unsafe { sys::ucp_listener_query(self.raw, &mut attributes) };
        check(status, "asking for a listener's address")?;
        from_storage(&attributes.sockaddr)
            .ok_or_else(|| crate::Status::INVALID_ADDR.during("asking for a listener's address"))
    }

    /// The next connection that waits, if any.
    #[must_use]
    #[allow(
        clippy::should_implement_trait,
        reason = "an iterator that ends is fused; this one goes on"
    )]
    pub fn next(&self) -> Option<ConnectionRequest> {
        let raw = self.queue.requests.borrow_mut().pop_front()?;
        Some(ConnectionRequest { raw, listener: self.raw, worker: self.worker.clone() })
    }

    /// The next connection, now or when progress brings one. One task at a time is woken: the one that asked last.
    pub fn poll_next(&self, cx: &mut TaskContext<'_>) -> Poll<ConnectionRequest> {
        if let Some(request) = self.next() {
            return Poll::Ready(request);
        }
        self.queue.waker.set(Some(cx.waker().clone()));
        Poll::Pending
    }

    /// As [`poll_next`](Listener::poll_next), as a future.
    pub async fn connection(&self) -> ConnectionRequest {
        poll_fn(|cx| self.poll_next(cx)).await
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.queue.refusing.set(Some(self.raw));
        for request in self.queue.requests.take() {
            // SAFETY: a request of this listener, which is live, that nobody accepted or refused.
            unsafe { sys::ucp_listener_reject(self.raw, request) };
        }
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting = self.queue.requests.borrow().len();
        f.debug_struct("Listener").field("waiting", &waiting).finish_non_exhaustive()
    }
}

/// A connection that a peer asked for: `ucp_conn_request_h`. Dropping it refuses the connection.
///
/// ```
/// use ucx::{ConnectionRequest, Endpoint, Result, Worker};
///
/// /// Takes peers of this machine only.
/// fn admit(worker: &Worker, request: ConnectionRequest) -> Result<Option<Endpoint>> {
///     if request.peer().is_some_and(|peer| peer.ip().is_loopback()) {
///         return worker.endpoint().accept(request).map(Some);
///     }
///     request.reject();
///     Ok(None)
/// }
/// ```
pub struct ConnectionRequest {
    raw: sys::ucp_conn_request_h,
    listener: sys::ucp_listener_h,
    worker: Worker,
}

impl ConnectionRequest {
    /// The peer's address, if UCX knows it: `ucp_conn_request_query`.
    #[must_use]
    pub fn peer(&self) -> Option<SocketAddr> {
        let mut attributes = sys::ucp_conn_request_attr_t::zeroed();
        attributes.field_mask = sys::UCP_CONN_REQUEST_ATTR_FIELD_CLIENT_ADDR.into();
        // SAFETY: the request is live, the mask names what UCX may write.
        let status = unsafe { sys::ucp_conn_request_query(self.raw, &mut attributes) };
        check(status, "asking for a peer's address").ok()?;
        from_storage(&attributes.client_address)
    }

    /// Refuses the connection: the peer's endpoint fails with `REJECTED`. `ucp_listener_reject`.
    pub fn reject(self) {
        drop(self);
    }

    /// What the peer's queues are like: it sends that if it is not as UCX makes them. Without it UCX knows of no number, or of 0.
    pub(crate) fn queues(&self) -> Queues {
        let mut attributes = sys::ucp_conn_request_attr_t::zeroed();
        attributes.field_mask = sys::UCP_CONN_REQUEST_ATTR_FIELD_CLIENT_ID.into();
        // SAFETY: the request is live, the mask names what UCX may write.
        let status = unsafe { sys::ucp_conn_request_query(self.raw, &mut attributes) };
        let known = check(status, "asking for a peer's number");
        known.map_or_else(|_| Queues::default(), |()| Queues(attributes.client_id))
    }

    pub(crate) fn worker(&self) -> &Worker {
        &self.worker
    }

    /// The request, for the call that takes it over.
    pub(crate) fn into_raw(self) -> sys::ucp_conn_request_h {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is never used or dropped again, so its worker is dropped once, here.
        unsafe { ptr::drop_in_place(&mut this.worker) };
        this.raw
    }
}

impl Drop for ConnectionRequest {
    fn drop(&mut self) {
        // SAFETY: a request that nobody accepted or refused, of a listener that lives as long as its worker.
        unsafe { sys::ucp_listener_reject(self.listener, self.raw) };
    }
}

impl fmt::Debug for ConnectionRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionRequest").field("peer", &self.peer()).finish()
    }
}
