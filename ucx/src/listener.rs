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
use crate::socket::{CSocketAddr, from_storage};
use crate::status::{Result, check};
use crate::worker::Worker;
use crate::zeroed::Zeroed;

/// A socket on which a worker gets connections: `ucp_listener_h`. Needs `tcp` among the transports.
///
/// Progress collects the connections; [`next`](Listener::next) hands them out, and
/// [`EndpointBuilder::accept`](crate::EndpointBuilder::accept) makes endpoints of them. It stays open until it and the
/// last request that it gave out are dropped; requests that were not asked for are then refused.
pub struct Listener {
    inner: Rc<Inner>,
}

struct Inner {
    raw: sys::ucp_listener_h,
    queue: Rc<Queue>,
    worker: Worker,
}

/// What UCX's connection handler reaches.
struct Queue {
    requests: RefCell<VecDeque<sys::ucp_conn_request_h>>,
    waker: Cell<Option<Waker>>,
    worker: *const crate::inner::Inner,
}

unsafe extern "C" fn on_connection(request: sys::ucp_conn_request_h, arg: *mut c_void) {
    // SAFETY: `arg` is the listener's queue, which outlives the listener.
    let queue = unsafe { &*arg.cast::<Queue>() };
    queue.requests.borrow_mut().push_back(request);
    if let Some(waker) = queue.waker.take() {
        // SAFETY: the listener's worker is live.
        let worker = unsafe { &*queue.worker };
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
        let queue =
            Rc::new(Queue { requests: RefCell::default(), waker: Cell::new(None), worker: worker.as_ptr() });
        let mut params = sys::ucp_listener_params_t::zeroed();
        params.field_mask =
            u64::from(sys::UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | sys::UCP_LISTENER_PARAM_FIELD_CONN_HANDLER);
        params.sockaddr = socket.raw();
        params.conn_handler.cb = Some(on_connection);
        params.conn_handler.arg = void(Rc::as_ptr(&queue));
        let mut raw = ptr::null_mut();
        // SAFETY: the worker is live, the mask names what is set, the queue lives as long as the listener.
        let status = unsafe { sys::ucp_listener_create(worker.raw(), &params, &mut raw) };
        check(status, format!("listening on {address}"))?;
        Ok(Listener { inner: Rc::new(Inner { raw, queue, worker: worker.clone() }) })
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
        let status = unsafe { sys::ucp_listener_query(self.inner.raw, &mut attributes) };
        check(status, "asking for a listener's address")?;
        from_storage(&attributes.sockaddr)
            .ok_or_else(|| crate::Status::INVALID_ADDR.during("asking for a listener's address"))
    }

    /// The next connection that waits, if any.
    #[must_use]
    #[allow(clippy::should_implement_trait, reason = "an iterator that ends is fused; this one goes on")]
    pub fn next(&self) -> Option<ConnectionRequest> {
        let raw = self.inner.queue.requests.borrow_mut().pop_front()?;
        Some(ConnectionRequest { raw, listener: Rc::clone(&self.inner) })
    }

    /// The next connection, now or when progress brings one. One task at a time is woken: the one that asked last.
    pub fn poll_next(&self, cx: &mut TaskContext<'_>) -> Poll<ConnectionRequest> {
        if let Some(request) = self.next() {
            return Poll::Ready(request);
        }
        self.inner.queue.waker.set(Some(cx.waker().clone()));
        Poll::Pending
    }

    /// As [`poll_next`](Listener::poll_next), as a future.
    pub async fn connection(&self) -> ConnectionRequest {
        poll_fn(|cx| self.poll_next(cx)).await
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let raw = self.raw;
        let queue = Rc::clone(&self.queue);
        let end = move || {
            for request in queue.requests.take() {
                // SAFETY: a request of this listener that nobody accepted or refused.
                unsafe { sys::ucp_listener_reject(raw, request) };
            }
            // SAFETY: the listener is live, no request of it is left, and it is destroyed once.
            unsafe { sys::ucp_listener_destroy(raw) };
            drop(queue);
        };
        if self.worker.is_progressing() {
            self.worker.inner().later(move |_| end());
        } else {
            end();
        }
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting = self.inner.queue.requests.borrow().len();
        f.debug_struct("Listener").field("waiting", &waiting).finish_non_exhaustive()
    }
}

/// A connection that a peer asked for: `ucp_conn_request_h`. Dropping it refuses the connection.
pub struct ConnectionRequest {
    raw: sys::ucp_conn_request_h,
    listener: Rc<Inner>,
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

    pub(crate) fn worker(&self) -> &Worker {
        &self.listener.worker
    }

    /// The request, for the call that takes it over, and what must live until that call returns.
    pub(crate) fn into_raw(self) -> (sys::ucp_conn_request_h, Hold) {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is never used or dropped again, so there is one owner as before.
        (this.raw, Hold(unsafe { ptr::read(&this.listener) }))
    }
}

/// Keeps a listener open.
pub(crate) struct Hold(#[allow(dead_code, reason = "held for its drop")] Rc<Inner>);

impl Drop for ConnectionRequest {
    fn drop(&mut self) {
        // SAFETY: a request of this listener, which is live, that nobody accepted or refused.
        unsafe { sys::ucp_listener_reject(self.listener.raw, self.raw) };
    }
}

impl fmt::Debug for ConnectionRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionRequest").field("peer", &self.peer()).finish()
    }
}
