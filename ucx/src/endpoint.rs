//! Endpoints: connections of a worker to a peer.

mod close;
mod connect;
mod failed;

use std::cell::Cell;
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use ucx_sys as sys;

pub use self::close::CloseMode;
use self::close::close;
pub use self::connect::EndpointBuilder;
pub use self::failed::Failed;
use self::failed::FailureWaiters;
use crate::address::WorkerAddress;
use crate::inner::WorkerState;
use crate::status::Status;
use crate::watch::WatchId;
use crate::worker::Worker;

type Hook = Box<dyn FnOnce(Status)>;

/// The argument of UCX's error handler; lives until UCX has closed the endpoint.
struct EndpointState {
    worker: *const WorkerState,
    failed: Cell<Option<Status>>,
    hook: Cell<Option<Hook>>,
    waiting: FailureWaiters,
    /// Closed or about to be, maybe with a handle: see [`lose`](EndpointState::lose).
    over: Cell<bool>,
    in_mesh: Cell<bool>,
    watched: Cell<Option<WatchId>>,
}

impl EndpointState {
    fn forget(&self, worker: &Worker) {
        self.hook.set(None);
        self.over.set(true);
        if let Some(id) = self.watched.take() {
            worker.inner().watch.remove(id);
        }
    }

    /// Handles a peer that left unnoticed by UCX: closes the endpoint, so that its operations end.
    fn lose(self: &Rc<Self>, raw: sys::ucp_ep_h, worker: &Worker) {
        if self.over.get() || self.failed.get().is_some() {
            return;
        }
        self.failed.set(Some(LEFT));
        let hook = self.hook.take();
        close(raw, Rc::clone(self), worker, CloseMode::Force);
        worker.inner().lose_peer();
        self.waiting.wake();
        if let Some(hook) = hook {
            hook(LEFT);
        }
    }
}

/// Sent by a mesh without a free socket slot: the peer will not notice when the mesh leaves.
pub(crate) const FULL: [u8; 1] = *b"F";

const LEFT: Status = Status::CONNECTION_RESET;

/// UCX's error handler: records the status, and defers the hook to the end of the round.
unsafe extern "C" fn on_error(arg: *mut libc::c_void, _: sys::ucp_ep_h, status: sys::ucs_status_t) {
    // SAFETY: `arg` is the endpoint's `EndpointState`, which lives until the endpoint is closed.
    let shared = unsafe { &*arg.cast::<EndpointState>() };
    let status = Status::from_raw(status);
    shared.failed.set(Some(shared.failed.get().unwrap_or(status)));
    // SAFETY: the endpoint's worker is live.
    let inner = unsafe { &*shared.worker };
    if shared.in_mesh.get() {
        inner.lose_peer();
    }
    shared.waiting.wake();
    if let Some(hook) = shared.hook.take() {
        inner.later(move |inner| {
            if !inner.closing.get() {
                hook(status);
            }
        });
    }
}

/// The behaviour of an endpoint that loses its peer: `ucp_err_handling_mode_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ErrorMode {
    /// Requests end with an error, and UCX calls the error hook: `UCP_ERR_HANDLING_MODE_PEER`.
    ///
    /// Only some transports detect a lost peer: without a device, `tcp`, and shared memory with
    /// [`watched_shared_memory`](crate::ContextBuilder::watched_shared_memory). The endpoint uses
    /// such a transport for its data, or fails with `UNREACHABLE`.
    #[default]
    Peer,
    /// Requests to a lost peer never end. Every transport supports this mode, also shared memory
    /// without [`watched_shared_memory`](crate::ContextBuilder::watched_shared_memory). Such an
    /// endpoint is never closed by force.
    None,
}

/// The id of an [`Endpoint`] or a reply endpoint within its worker. UCX may reuse it later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EndpointId(pub(crate) usize);

impl fmt::Display for EndpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// A connection to a peer: `ucp_ep_h`.
///
/// Dropping it closes it. With [`ErrorMode::Peer`] the close is forced, and unsent data may be
/// lost. [`close`](Endpoint::close) with [`CloseMode::Flush`] loses nothing.
///
/// ```no_run
/// # fn example(worker: &ucx::Worker, bytes: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
/// use ucx::{CloseMode, WorkerAddress};
///
/// // SAFETY: the bytes are `WorkerAddress::as_bytes` of a process of this program.
/// let address = unsafe { WorkerAddress::from_bytes(bytes) }?;
/// let endpoint = worker.connect(&address)?;
/// endpoint.tag_send(7, b"hello".to_vec()).wait().0?;
/// endpoint.close(CloseMode::Flush);
/// # Ok(())
/// # }
/// ```
pub struct Endpoint {
    raw: sys::ucp_ep_h,
    mode: ErrorMode,
    shared: Rc<EndpointState>,
    worker: Worker,
    address: WorkerAddress,
}

impl Endpoint {
    /// Returns the endpoint's worker.
    #[must_use]
    pub fn worker(&self) -> &Worker {
        &self.worker
    }

    /// Returns the endpoint's id. [`Reply::endpoint`](crate::Reply::endpoint) is the same for
    /// messages of the peer, if this endpoint was made first.
    #[must_use]
    pub fn id(&self) -> EndpointId {
        EndpointId(self.raw.addr())
    }

    /// Returns the address of the peer's worker, to pass on to other senders.
    #[must_use]
    pub fn address(&self) -> &WorkerAddress {
        &self.address
    }

    /// Returns whether UCX found the peer or the connection lost. A stopped peer is not detected.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        self.error().is_some()
    }

    /// Returns the error of a failed endpoint.
    #[must_use]
    pub fn error(&self) -> Option<Status> {
        self.shared.failed.get()
    }

    /// Returns a future that ends with the error when the endpoint fails.
    pub fn failed(&self) -> Failed<'_> {
        Failed::new(&self.shared)
    }

    pub(crate) fn error_mode(&self) -> ErrorMode {
        self.mode
    }

    /// Closes the endpoint: `ucp_ep_close_nbx`. The worker's progress, or its end, completes the
    /// close. A failed endpoint is closed by force, an endpoint with [`ErrorMode::None`] never.
    /// Inside a handler, the close begins after the handler returns.
    pub fn close(self, mode: CloseMode) {
        self.begin_close(mode);
    }

    /// Closes a shared endpoint: later operations end with `CONNECTION_RESET`.
    pub fn begin_close(&self, mode: CloseMode) {
        self.close_once(if self.is_failed() { CloseMode::Force } else { mode });
    }

    fn close_once(&self, mode: CloseMode) {
        let mode = if self.mode == ErrorMode::None { CloseMode::Flush } else { mode };
        if !self.shared.over.get() {
            close(self.raw, Rc::clone(&self.shared), &self.worker, mode);
        }
    }

    pub(crate) fn lose(&self) {
        self.shared.lose(self.raw, &self.worker);
    }

    #[inline]
    pub(crate) fn open(&self) -> std::result::Result<sys::ucp_ep_h, Status> {
        if self.shared.over.get() { Err(LEFT) } else { Ok(self.raw) }
    }

    /// Makes the endpoint fail when the peer closes this socket, unless it sends [`FULL`] first.
    pub(crate) fn watch(&self, socket: OwnedFd) -> io::Result<()> {
        let (raw, shared) = (self.raw, Rc::downgrade(&self.shared));
        let id = self.worker.inner().watch.add(Rc::new(socket), move |inner, socket, id| {
            inner.watch.remove(id);
            let Some(shared) = shared.upgrade() else { return true };
            shared.watched.set(None);
            let mut said = [0; FULL.len()];
            if rustix::io::read(socket, &mut said) != Ok(FULL.len()) || said != FULL {
                // SAFETY: the pointer is from the worker's `Rc`; the polling worker has a handle.
                let worker = unsafe { Worker::borrowed(shared.worker) };
                shared.lose(raw, &worker);
            }
            true
        })?;
        self.shared.watched.set(Some(id));
        self.shared.in_mesh.set(true);
        Ok(())
    }

    #[cfg(test)]
    pub(crate) fn is_watched(&self) -> bool {
        self.shared.watched.get().is_some()
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.close_once(CloseMode::Force);
    }
}

debug_fields!(Endpoint, |it| { raw: it.raw, error: it.error() });
