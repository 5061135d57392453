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
use self::failed::Waiting;
use crate::address::WorkerAddress;
use crate::inner::WorkerState;
use crate::status::Status;
use crate::watch::WatchId;
use crate::worker::Worker;

type Hook = Box<dyn FnOnce(Status)>;

/// The argument of UCX's error handler. It lives until UCX has closed the endpoint.
struct EndpointState {
    worker: *const WorkerState,
    failed: Cell<Option<Status>>,
    hook: Cell<Option<Hook>>,
    waiting: Waiting,
    /// It is closed or about to be, possibly before its handle is gone: see
    /// [`lose`](EndpointState::lose).
    over: Cell<bool>,
    /// Whether its peer is in a mesh with this worker, and writes into one queue with others.
    in_mesh: Cell<bool>,
    /// The socket that ends when the peer leaves.
    watched: Cell<Option<WatchId>>,
}

impl EndpointState {
    /// The handle is gone.
    fn forget(&self, worker: &Worker) {
        self.hook.set(None);
        self.over.set(true);
        if let Some(id) = self.watched.take() {
            worker.inner().watch.remove(id);
        }
    }

    /// The peer left and UCX does not know: closes the endpoint, so that operations on it end.
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

/// What a peer writes to a socket that it cannot watch: it will not tell when it leaves.
pub(crate) const FULL: [u8; 1] = *b"F";

/// Why an endpoint failed whose peer left.
const LEFT: Status = Status::CONNECTION_RESET;

/// UCX's error handler: notes the status, and leaves the hook for the end of the round of progress.
unsafe extern "C" fn on_error(arg: *mut libc::c_void, _: sys::ucp_ep_h, status: sys::ucs_status_t) {
    // SAFETY: `arg` is the endpoint's `EndpointState`, which stays until the endpoint is closed.
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

/// What an endpoint does when its peer is lost: `ucp_err_handling_mode_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ErrorMode {
    /// Requests end with an error, and the error hook is called: `UCP_ERR_HANDLING_MODE_PEER`.
    ///
    /// Only some transports notice. Of those without a device, `tcp` does. The endpoint uses such a
    /// transport for its data, or fails with `UNREACHABLE` if there is none. In a context with
    /// [`watched_shared_memory`](crate::ContextBuilder::watched_shared_memory) it may use shared
    /// memory.
    #[default]
    Peer,
    /// Nothing: requests to a lost peer never end. Every transport can do this, so it is the way to
    /// use shared memory in a context without
    /// [`watched_shared_memory`](crate::ContextBuilder::watched_shared_memory). Such an endpoint is
    /// never closed by force.
    None,
}

/// Which endpoint of a worker: that of an [`Endpoint`], or the one that a message can be answered
/// by. When an endpoint is gone, another may get its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EndpointId(pub(crate) usize);

impl fmt::Display for EndpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// A connection to a peer: `ucp_ep_h`.
///
/// Dropping it closes it. With [`ErrorMode::Peer`] that happens by force, and what is not on the
/// wire yet may be lost. [`close`](Endpoint::close) with [`CloseMode::Flush`] loses nothing.
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
    /// The worker it belongs to.
    #[must_use]
    pub fn worker(&self) -> &Worker {
        &self.worker
    }

    /// Its number, which [`Reply::endpoint`](crate::Reply::endpoint) has too for messages of a peer
    /// whose worker this endpoint was made for before the peer connected.
    #[must_use]
    pub fn id(&self) -> EndpointId {
        EndpointId(self.raw.addr())
    }

    /// The address of the worker that it leads to, for somebody else who sends there.
    #[must_use]
    pub fn address(&self) -> &WorkerAddress {
        &self.address
    }

    /// Whether UCX found the peer gone or the connection broken. It does not notice a stopped peer.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        self.error().is_some()
    }

    /// Why the endpoint failed, if it did.
    #[must_use]
    pub fn error(&self) -> Option<Status> {
        self.shared.failed.get()
    }

    /// Ends when the endpoint fails, with the reason.
    pub fn failed(&self) -> Failed<'_> {
        Failed::new(&self.shared)
    }

    pub(crate) fn error_mode(&self) -> ErrorMode {
        self.mode
    }

    /// Closes the endpoint: `ucp_ep_close_nbx`. The worker's progress, or its end, finishes that.
    /// A failed endpoint is closed by force, one with [`ErrorMode::None`] never. Inside a handler,
    /// it begins when the handler has returned.
    pub fn close(self, mode: CloseMode) {
        self.begin_close(mode);
    }

    /// As [`close`](Endpoint::close), for an endpoint that others use as well. Operations that
    /// begin later fail with `CONNECTION_RESET`.
    pub fn begin_close(&self, mode: CloseMode) {
        self.close_once(if self.is_failed() { CloseMode::Force } else { mode });
    }

    fn close_once(&self, mode: CloseMode) {
        let mode = if self.mode == ErrorMode::None { CloseMode::Flush } else { mode };
        if !self.shared.over.get() {
            close(self.raw, Rc::clone(&self.shared), &self.worker, mode);
        }
    }

    /// Closes the endpoint as if its peer had left.
    pub(crate) fn lose(&self) {
        self.shared.lose(self.raw, &self.worker);
    }

    /// The live endpoint; or why it failed, once it is closed.
    #[inline]
    pub(crate) fn open(&self) -> std::result::Result<sys::ucp_ep_h, Status> {
        if self.shared.over.get() { Err(LEFT) } else { Ok(self.raw) }
    }

    /// Fails when this socket ends: the peer closes it as it leaves. If the peer says that it has
    /// no room, the endpoint goes on unwatched.
    pub(crate) fn watch(&self, socket: OwnedFd) -> io::Result<()> {
        let (raw, shared) = (self.raw, Rc::downgrade(&self.shared));
        let id = self.worker.inner().watch.add(Rc::new(socket), move |inner, socket, id| {
            inner.watch.remove(id);
            let Some(shared) = shared.upgrade() else { return true };
            shared.watched.set(None);
            let mut said = [0; FULL.len()];
            if rustix::io::read(socket, &mut said) != Ok(FULL.len()) || said != FULL {
                // SAFETY: the pointer is from the worker's `Rc`, and the worker that found the news
                // has a handle.
                let worker = unsafe { Worker::borrowed(shared.worker) };
                shared.lose(raw, &worker);
            }
            true
        })?;
        self.shared.watched.set(Some(id));
        self.shared.in_mesh.set(true);
        Ok(())
    }

    /// Whether it has a socket that ends when its peer leaves.
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
