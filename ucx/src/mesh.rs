//! Workers that all connect to each other; a lost member is detected and does not block others.

mod listener;
mod queue_test;

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::{Rc, Weak};
use std::task::Poll;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use rustix::event::epoll;

use self::listener::Listener;
use self::queue_test::QueueTest;
use crate::context::ContextBuilder;
use crate::endpoint::Endpoint;
use crate::features::Features;
use crate::peer::{Machine, PeerAddress};
use crate::sealed;
use crate::status::{Error, Result, Status};
use crate::worker::{WeakWorker, Worker};

const BLOCKED: &str = "a process on the same machine was killed or stopped while it sent, which \
    blocks the receive queue of a UCX worker for all others";

/// A worker that others connect to, and its endpoints to the others.
///
/// UCX does not detect that a peer in shared memory leaves. A mesh therefore listens on a free port
/// of `127.0.0.1`, and its [`address`](Mesh::address) contains port, machine and worker address. An
/// [`endpoint`](Mesh::endpoint) in shared memory has a socket to the peer's port, which closes with
/// the peer's mesh or process: see [`connect_peer`](crate::EndpointBuilder::connect_peer). Contexts
/// of a mesh need [`watched_shared_memory`](ContextBuilder::watched_shared_memory), or use `tcp`.
///
/// [`progress`](Mesh::progress) accepts connections and keeps the sockets until the peers leave.
/// Any local process may connect, but the mesh reads nothing from it. A mesh keeps at most 1024
/// connections, and a quarter of the descriptor limit (`ulimit -n`). Further peers are notified and
/// continue unwatched. Without a loopback device, the address contains only the worker's.
///
/// # Blocked queues
/// A peer on this machine that is killed in the middle of a message blocks the receive queue for
/// all peers. After the loss of a peer in shared memory, the mesh therefore sends an active message
/// with the id 255 into its own queue. A test takes microseconds, the first one some milliseconds,
/// and the test of a blocked queue about a second. `progress` returns true meanwhile.
///
/// A mesh closes a worker with a blocked queue:
/// - Its endpoints and its tag receives end with `CONNECTION_RESET`.
/// - Its peers detect that it left.
/// - [`worker`](Mesh::worker) and [`connect`](Mesh::connect) return `CONNECTION_RESET`.
///
/// The next call of [`address`](Mesh::address) opens another worker with a new address.
///
/// Dropping a mesh closes all its endpoints by force: [`flush`](Mesh::flush) it first.
///
/// ```no_run
/// # fn example() -> ucx::Result<()> {
/// use ucx::{Context, Features, Mesh};
///
/// let settings = || Context::builder(Features::TAG).watched_shared_memory();
/// let receiver = Mesh::open(settings(), |_| Ok(()), |_| ())?;
/// let bytes: Vec<u8> = receiver.address()?.as_bytes().to_vec();
///
/// // In another process, which received the bytes:
/// let sender = Mesh::open(settings(), |_| Ok(()), |_| ())?;
/// // SAFETY: the bytes are an address of this program.
/// let endpoint = unsafe { sender.endpoint(&bytes) }?;
/// endpoint.tag_send(7, b"hello".to_vec()).detach();
/// # Ok(())
/// # }
/// ```
pub struct Mesh {
    settings: ContextBuilder,
    listen: Listen,
    on_blocked: Box<dyn Fn(&Error)>,
    wakes: OwnedFd,
    /// Empty after its queue was blocked.
    member: RefCell<Option<MeshMember>>,
    /// Closed workers that endpoints or requests still hold.
    old: RefCell<Vec<WeakWorker>>,
}

type Listen = Box<dyn Fn(&Worker) -> Result<()>>;

struct MeshMember {
    worker: Worker,
    /// Keyed by the address's checksum: hashing a whole address takes as long as sending a message.
    known: RefCell<FxHashMap<u64, Vec<MeshPeer>>>,
    endpoints: RefCell<Vec<Weak<Endpoint>>>,
    /// Empty without a loopback device.
    listener: Option<Listener>,
    /// Empty without a listener or shared memory.
    queue: RefCell<Option<QueueTest>>,
    tested: Cell<u64>,
}

struct MeshPeer {
    address: Box<[u8]>,
    endpoint: Rc<Endpoint>,
}

impl Mesh {
    /// Opens a worker with these settings. The mesh calls `listen` for it and each later worker,
    /// and `on_blocked` when a queue is blocked. Neither may hold a strong handle of a worker.
    ///
    /// # Errors
    /// `IO_ERROR`, with the system's reason, when a socket cannot be opened. Otherwise the errors
    /// of [`ContextBuilder::build`], [`Context::worker`](crate::Context::worker),
    /// [`Worker::set_am_handler`] and `listen`.
    pub fn open(
        settings: ContextBuilder,
        listen: impl Fn(&Worker) -> Result<()> + 'static,
        on_blocked: impl Fn(&Error) + 'static,
    ) -> Result<Mesh> {
        let wakes = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(cannot_watch)?;
        let mesh = Mesh {
            settings,
            listen: Box::new(listen),
            on_blocked: Box::new(on_blocked),
            wakes,
            member: RefCell::default(),
            old: RefCell::default(),
        };
        *mesh.member.borrow_mut() = Some(mesh.new_member()?);
        Ok(mesh)
    }

    fn new_member(&self) -> Result<MeshMember> {
        let worker = self.settings.clone().build()?.worker()?;
        (self.listen)(&worker)?;
        let listener =
            match Machine::of_this_thread().map(|machine| Listener::open(&worker, machine)) {
                Some(Err(error)) if error.kind() != io::ErrorKind::AddrNotAvailable => {
                    return Err(Status::IO_ERROR
                        .during(format!("listening for peers on loopback: {error}")));
                }
                listener => listener.and_then(io::Result::ok),
            };
        let has_queue = worker.features().contains(Features::AM) && worker.context().has_queues();
        let queue =
            (listener.is_some() && has_queue).then(|| QueueTest::new(&worker, &self.settings));
        let queue = RefCell::new(queue.transpose()?);
        if worker.features().contains(Features::WAKEUP) {
            let (fd, events) = (worker.event_fd()?, epoll::EventFlags::IN);
            epoll::add(&self.wakes, fd, epoll::EventData::new_u64(0), events)
                .map_err(cannot_watch)?;
        }
        let (known, endpoints) = (RefCell::default(), RefCell::default());
        Ok(MeshMember { worker, known, endpoints, listener, queue, tested: Cell::new(0) })
    }

    /// Returns the worker.
    ///
    /// # Errors
    /// `CONNECTION_RESET` after its queue was blocked, until [`address`](Mesh::address) is called.
    #[inline]
    pub fn worker(&self) -> Result<Worker> {
        self.with_member(|member| Ok(member.worker.clone()))
    }

    #[inline]
    fn with_member<T>(&self, run: impl FnOnce(&MeshMember) -> Result<T>) -> Result<T> {
        self.member.borrow().as_ref().ok_or_else(blocked).and_then(run)
    }

    /// Returns the address for peers. Opens another worker if the last one was closed.
    ///
    /// # Errors
    /// The errors of [`open`](Mesh::open) and [`Worker::address`].
    pub fn address(&self) -> Result<PeerAddress> {
        if self.member.borrow().is_none() {
            let member = self.new_member()?;
            *self.member.borrow_mut() = Some(member);
        }
        self.with_member(|member| {
            let local = member.listener.as_ref().map(|listener| listener.address);
            Ok(PeerAddress::new(member.worker.address()?, local))
        })
    }

    /// Returns the endpoint to a [`PeerAddress`]; connects on the first call and after a failure.
    ///
    /// # Safety
    /// Same as [`WorkerAddress::from_bytes`](crate::WorkerAddress::from_bytes).
    ///
    /// # Errors
    /// The errors of [`PeerAddress::from_bytes`] and [`connect`](Mesh::connect).
    pub unsafe fn endpoint(&self, bytes: &[u8]) -> Result<Rc<Endpoint>> {
        self.with_member(|member| {
            let seal = sealed::sum_of(bytes);
            let is_it = |known: &&MeshPeer| *known.address == *bytes && !known.endpoint.is_failed();
            if let Some(known) =
                member.known.borrow().get(&seal).and_then(|known| known.iter().find(is_it))
            {
                return Ok(Rc::clone(&known.endpoint));
            }
            // SAFETY: the caller's promise is the same.
            let address = unsafe { PeerAddress::from_bytes(bytes) }?;
            let endpoint = member.connect(&address, |_| ())?;
            // Dropping an endpoint may use the table, so drop them outside its borrow.
            drop(member.take_failed());
            let known = MeshPeer { address: bytes.into(), endpoint: Rc::clone(&endpoint) };
            member.known.borrow_mut().entry(seal).or_default().push(known);
            Ok(endpoint)
        })
    }

    /// Connects to the worker with this address; the last handle closes the endpoint. For
    /// `on_error` see [`EndpointBuilder::on_error`](crate::EndpointBuilder::on_error).
    ///
    /// # Errors
    /// The errors of [`worker`](Mesh::worker) and
    /// [`EndpointBuilder::connect_peer`](crate::EndpointBuilder::connect_peer).
    pub fn connect(
        &self,
        address: &PeerAddress,
        on_error: impl FnOnce(Status) + 'static,
    ) -> Result<Rc<Endpoint>> {
        self.with_member(|member| member.connect(address, on_error))
    }

    /// Progresses the worker like [`Worker::progress`], and the closed workers.
    #[inline]
    pub fn progress(&self) -> bool {
        let member = self.member.borrow();
        let mut moved = false;
        if let Some(current) = &*member {
            moved = current.worker.progress();
            if current.is_due() && !current.worker.is_progressing() {
                let is_blocked = current.test(!moved);
                moved = true;
                if is_blocked {
                    drop(member);
                    self.close_blocked();
                }
            }
        }
        if !self.old.borrow().is_empty() {
            moved |= self.progress_old();
        }
        moved
    }

    #[cold]
    fn progress_old(&self) -> bool {
        let old: Vec<Worker> = self.old.borrow().iter().filter_map(WeakWorker::upgrade).collect();
        let moved = old.iter().fold(false, |moved, worker| worker.progress() | moved);
        *self.old.borrow_mut() = old.iter().map(Worker::downgrade).collect();
        moved
    }

    #[cold]
    fn close_blocked(&self) {
        let Some(member) = self.member.take() else { return };
        let MeshMember { worker, endpoints, listener, .. } = member;
        tracing::error!("{BLOCKED}");
        if let Ok(fd) = worker.event_fd() {
            // It may stay readable forever. Deleting it fails only if it was never added.
            let _ = epoll::delete(&self.wakes, fd);
        }
        self.old.borrow_mut().push(worker.downgrade());
        drop(listener);
        (self.on_blocked)(&blocked());
        endpoints.take().iter().filter_map(Weak::upgrade).for_each(|endpoint| endpoint.lose());
        worker.inner().cancel_receives();
    }

    /// Arms the worker like [`Worker::arm`], for [`event_fd`](Mesh::event_fd).
    ///
    /// # Errors
    /// The errors of [`Worker::arm`] and [`worker`](Mesh::worker).
    pub fn arm(&self) -> Result<bool> {
        self.with_member(|member| Ok(!member.is_due() && member.worker.arm()?))
    }

    /// Returns a descriptor, only for polling, that signals work of an [armed](Mesh::arm) worker.
    #[must_use]
    pub fn event_fd(&self) -> BorrowedFd<'_> {
        self.wakes.as_fd()
    }

    /// Ends after the tests for all peers that have left until now. It needs progress.
    pub async fn tested(&self) {
        let counts = || self.member.borrow().as_ref().map(MeshMember::losses);
        let (all, _) = counts().unwrap_or_default();
        poll_fn(|cx| {
            if counts().is_none_or(|(losses, tested)| losses < all || tested >= all) {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    /// Waits until everything that was sent has arrived, for at most `limit`.
    pub fn flush(&self, limit: Duration) {
        if let Ok(worker) = self.worker() {
            drop(worker.flush().wait_for(limit));
        }
    }

    /// Returns the number of peer connections that the mesh keeps.
    #[must_use]
    pub fn connections(&self) -> usize {
        let member = self.member.borrow();
        member.as_ref().and_then(|member| member.listener.as_ref()).map_or(0, Listener::connections)
    }
}

debug_fields!(Mesh, |it| { connections: it.connections() });

fn blocked() -> Error {
    Status::CONNECTION_RESET.during(BLOCKED)
}

fn cannot_watch(error: impl std::fmt::Display) -> Error {
    Status::IO_ERROR.during(format!("watching the events of a mesh: {error}"))
}

impl MeshMember {
    fn connect(
        &self,
        address: &PeerAddress,
        on_error: impl FnOnce(Status) + 'static,
    ) -> Result<Rc<Endpoint>> {
        let endpoint = self.worker.endpoint().on_error(on_error).connect_peer(address)?;
        let endpoint = Rc::new(endpoint);
        let mut endpoints = self.endpoints.borrow_mut();
        endpoints.retain(|endpoint| endpoint.strong_count() > 0);
        endpoints.push(Rc::downgrade(&endpoint));
        Ok(endpoint)
    }

    fn take_failed(&self) -> Vec<MeshPeer> {
        let mut failed = Vec::new();
        self.known.borrow_mut().retain(|_, known| {
            failed.extend(known.extract_if(.., |known| known.endpoint.is_failed()));
            !known.is_empty()
        });
        failed
    }

    fn losses(&self) -> (u64, u64) {
        (self.worker.inner().losses.get(), self.tested.get())
    }

    #[inline]
    fn is_due(&self) -> bool {
        let (losses, tested) = self.losses();
        tested < losses
    }

    /// Continues the test; returns whether the queue is blocked.
    #[cold]
    fn test(&self, empty: bool) -> bool {
        let (losses, _) = self.losses();
        let mut queue = self.queue.borrow_mut();
        let is_blocked = queue.as_mut().map(|queue| queue.look(losses, empty, Instant::now()));
        self.tested.set(queue.as_ref().map_or(losses, QueueTest::tested));
        is_blocked == Some(true)
    }
}

#[cfg(test)]
mod tests;
