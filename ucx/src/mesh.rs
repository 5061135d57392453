//! Workers that all connect to each other, through shared memory on one machine. None is lost
//! unnoticed.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;
use std::rc::{Rc, Weak};

use rustc_hash::FxHashMap;
use rustix::net::{SocketFlags, accept_with};
use rustix::process::{Resource, getrlimit};

use crate::endpoint::{Endpoint, FULL};
use crate::features::Features;
use crate::inner::WorkerState;
use crate::own_queue::OwnQueue;
use crate::peer::{Local, Machine, PeerAddress};
use crate::sealed;
use crate::status::{Result, Status};
use crate::watch::WatchId;
use crate::worker::Worker;

/// The most connections of peers that a mesh keeps: a service has at most as many workers.
const MOST: usize = 1024;

/// It keeps at most this part of the descriptors that the process may have.
const PART: u64 = 4;

/// How many connections one look accepts.
const AT_ONCE: usize = 16;

/// A worker that others connect to, and its endpoints to the others.
///
/// Shared memory does not tell that a peer left. So a mesh listens on a free port of `127.0.0.1`,
/// and its [`address`](Mesh::address) has that port and the machine beside the worker's address. An
/// [`endpoint`](Mesh::endpoint) in shared memory comes with a plain socket to the peer's port,
/// which closes with the peer's mesh or process: see
/// [`connect_peer`](crate::EndpointBuilder::connect_peer). All contexts of a mesh are made with
/// [`watched_shared_memory`](crate::ContextBuilder::watched_shared_memory). If none is, messages go
/// over `tcp`.
///
/// The worker's progress accepts connections and keeps the sockets until the peers leave. Any
/// process of the machine may connect, but nothing is received from it. There are at most 1024
/// connections, and at most a quarter of the descriptors that the process may have (`ulimit -n`).
/// Further peers are told so and go on unwatched. Where there is no loopback device, the address
/// has the worker's alone.
///
/// A peer that dies in the middle of a message can block the worker: see
/// [`is_blocked`](Mesh::is_blocked). The active messages with the id 255 are the mesh's own.
///
/// Dropping a mesh closes all its endpoints by force: flush the worker first.
///
/// ```no_run
/// # fn example(sender: &ucx::Worker, receiver: &ucx::Worker) -> ucx::Result<()> {
/// use ucx::Mesh;
///
/// let at_receiver = Mesh::new(receiver)?;
/// let bytes: Vec<u8> = at_receiver.address()?.as_bytes().to_vec();
///
/// // In another process, which received the bytes:
/// let at_sender = Mesh::new(sender)?;
/// // SAFETY: the bytes are an address of this program.
/// let endpoint = unsafe { at_sender.endpoint(&bytes) }?;
/// endpoint.tag_send(7, b"hello".to_vec()).detach();
/// # Ok(())
/// # }
/// ```
pub struct Mesh {
    worker: Worker,
    /// By the seal of the address that they lead to: hashing all of an address takes as long as
    /// sending a message.
    endpoints: RefCell<FxHashMap<u64, Vec<Known>>>,
    /// Nothing where nothing can listen.
    door: Option<Door>,
}

/// How many connections may be kept.
fn most() -> usize {
    let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(descriptors / PART).unwrap_or(MOST).min(MOST)
}

/// An endpoint and the bytes of its address.
struct Known {
    address: Box<[u8]>,
    endpoint: Rc<Endpoint>,
}

struct Door {
    address: Local,
    kept: Rc<Kept>,
}

/// The sockets of a door. The worker watches them; they close with this value.
struct Kept {
    worker: Worker,
    listener: Cell<Option<WatchId>>,
    /// How many others it keeps.
    most: usize,
    peers: RefCell<HashSet<WatchId>>,
}

impl Mesh {
    /// Lets `worker` be reached, and keeps it alive.
    ///
    /// # Errors
    /// `IO_ERROR`, with the system's reason, when there is no socket for this; those of
    /// [`Worker::set_am_handler`] and [`Worker::address`].
    pub fn new(worker: &Worker) -> Result<Mesh> {
        let door =
            match Machine::of_this_thread().map(|machine| Door::open(worker, machine, most())) {
                Some(Err(error)) if error.kind() != io::ErrorKind::AddrNotAvailable => {
                    return Err(Status::IO_ERROR
                        .during(format!("listening for peers on loopback: {error}")));
                }
                door => door.and_then(io::Result::ok),
            };
        let has_queue = worker.features().contains(Features::AM) && worker.context().has_queues();
        if door.is_some() && has_queue {
            OwnQueue::listen(worker)?;
        }
        Ok(Mesh { worker: worker.clone(), endpoints: RefCell::default(), door })
    }

    /// The address by which others connect to this worker.
    pub fn address(&self) -> Result<PeerAddress> {
        let local = self.door.as_ref().map(|door| door.address);
        Ok(PeerAddress::new(self.worker.address()?, local))
    }

    /// The endpoint to the worker with this address, the bytes of a [`PeerAddress`]. It is made if
    /// there is none yet, or if the last one has failed.
    ///
    /// # Safety
    /// As [`WorkerAddress::from_bytes`](crate::WorkerAddress::from_bytes).
    ///
    /// # Errors
    /// As [`PeerAddress::from_bytes`] and
    /// [`EndpointBuilder::connect_peer`](crate::EndpointBuilder::connect_peer).
    pub unsafe fn endpoint(&self, bytes: &[u8]) -> Result<Rc<Endpoint>> {
        let seal = sealed::sum_of(bytes);
        let is_it = |known: &&Known| *known.address == *bytes && !known.endpoint.is_failed();
        if let Some(known) =
            self.endpoints.borrow().get(&seal).and_then(|known| known.iter().find(is_it))
        {
            return Ok(Rc::clone(&known.endpoint));
        }
        // SAFETY: the caller's promise is the same.
        let address = unsafe { PeerAddress::from_bytes(bytes) }?;
        let endpoint = Rc::new(self.worker.endpoint().connect_peer(&address)?);
        // They are closed while the table can be looked at again.
        drop(self.take_failed());
        let known = Known { address: bytes.into(), endpoint: Rc::clone(&endpoint) };
        self.endpoints.borrow_mut().entry(seal).or_default().push(known);
        Ok(endpoint)
    }

    fn take_failed(&self) -> Vec<Known> {
        let mut failed = Vec::new();
        self.endpoints.borrow_mut().retain(|_, known| {
            failed.extend(known.extract_if(.., |known| known.endpoint.is_failed()));
            !known.is_empty()
        });
        failed
    }

    /// Whether the worker receives nothing any more: a peer on this machine was killed in the
    /// middle of a message, and blocks the receive queue that all peers share. What is sent still
    /// arrives. A new worker and mesh go on.
    ///
    /// The mesh tests that whenever a peer in shared memory leaves, with a message from a thread of
    /// its own. A test takes some milliseconds, or about 1.3 s at most when the worker is blocked.
    /// So long [`progress`](Worker::progress) returns true.
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        self.worker.inner().queue.get().is_some_and(|queue| queue.is_blocked())
    }

    /// How many connections to peers in shared memory have ended, and of how many it is known that
    /// they did not [block](Mesh::is_blocked) the worker.
    #[must_use]
    pub fn losses(&self) -> (u64, u64) {
        self.worker.inner().queue.get().map_or((0, 0), |queue| queue.losses())
    }

    /// How many connections of peers it keeps.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.door.as_ref().map_or(0, |door| door.kept.peers.borrow().len())
    }
}

debug_fields!(Mesh, |it| { connections: it.connections() });

impl Door {
    fn open(worker: &Worker, machine: Machine, most: usize) -> io::Result<Door> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let port = NonZeroU16::new(listener.local_addr()?.port())
            .ok_or(io::ErrorKind::AddrNotAvailable)?;
        let kept = Rc::new(Kept {
            worker: worker.clone(),
            listener: Cell::new(None),
            most,
            peers: RefCell::default(),
        });
        let weak = Rc::downgrade(&kept);
        let id =
            worker.inner().watch.add(Rc::new(listener.into()), move |inner, listener, _| {
                weak.upgrade().is_some_and(|kept| kept.accept(&weak, inner, listener))
            })?;
        kept.listener.set(Some(id));
        Ok(Door { address: Local { port, machine }, kept })
    }
}

impl Kept {
    /// Accepts connections; whether there were any. Without a free descriptor they wait.
    fn accept(&self, weak: &Weak<Kept>, inner: &WorkerState, listener: &OwnedFd) -> bool {
        for accepted in 0..AT_ONCE {
            let Ok(socket) = accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)
            else {
                return accepted != 0;
            };
            let socket = Rc::new(socket);
            if self.peers.borrow().len() < self.most
                && let Ok(id) = self.keep(weak, inner, Rc::clone(&socket))
            {
                self.peers.borrow_mut().insert(id);
            } else {
                // A connection that has just begun has room for a byte. If not, the peer takes this
                // one for gone.
                let _ = rustix::io::write(&*socket, &FULL);
            }
        }
        true
    }

    fn keep(
        &self,
        weak: &Weak<Kept>,
        inner: &WorkerState,
        socket: Rc<OwnedFd>,
    ) -> io::Result<WatchId> {
        let weak = Weak::clone(weak);
        // Nobody sends anything: any news is the end.
        inner.watch.add(socket, move |inner, _, id| {
            inner.watch.remove(id);
            if let Some(kept) = weak.upgrade() {
                kept.peers.borrow_mut().remove(&id);
            }
            inner.lose_peer();
            true
        })
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let watch = &self.worker.inner().watch;
        self.listener.take().into_iter().chain(self.peers.take()).for_each(|id| watch.remove(id));
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpStream};
    use std::time::{Duration, Instant};

    use super::*;
    use crate::{Context, Features};

    fn door_for_two() -> (Worker, Door, SocketAddr) {
        let worker = watched();
        let door = Door::open(&worker, Machine::of_this_thread().unwrap(), 2).unwrap();
        let address = (Ipv4Addr::LOCALHOST, door.address.port.get()).into();
        (worker, door, address)
    }

    fn watched() -> Worker {
        let builder = Context::builder(Features::TAG).config("TLS", "tcp,shm,self");
        builder.watched_shared_memory().build().unwrap().worker().unwrap()
    }

    fn until(worker: &Worker, done: impl Fn() -> bool) {
        let start = Instant::now();
        while !done() {
            worker.progress();
            assert!(start.elapsed() < Duration::from_secs(60));
        }
    }

    #[test]
    fn who_comes_when_as_many_are_there_as_may_be_is_told_so_until_one_goes() {
        let (worker, door, address) = door_for_two();
        let count = || door.kept.peers.borrow().len();
        let come = || TcpStream::connect(address).unwrap();
        let first = [come(), come()];
        until(&worker, || count() == 2);
        let mut refused = come();
        refused.set_nonblocking(true).unwrap();
        let (mut said, mut place) = (refused.try_clone().unwrap(), [0]);
        until(&worker, || matches!(refused.peek(&mut [0]), Ok(1)));
        assert_eq!((said.read(&mut place).unwrap(), place), (1, FULL));
        assert_eq!(count(), 2);
        for mut stream in first.iter() {
            stream.set_nonblocking(true).unwrap();
            assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        }
        drop(first);
        until(&worker, || count() == 0);
        let _next = come();
        until(&worker, || count() == 1);
        refused.set_nonblocking(false).unwrap();
        assert_eq!(refused.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn an_endpoint_for_which_a_mesh_has_no_room_goes_on_unwatched() {
        let (receiver, sender) = (watched(), watched());
        let door = Door::open(&receiver, Machine::of_this_thread().unwrap(), 1).unwrap();
        let _stranger = TcpStream::connect((Ipv4Addr::LOCALHOST, door.address.port.get())).unwrap();
        until(&receiver, || door.kept.peers.borrow().len() == 1);
        let address = PeerAddress::new(receiver.address().unwrap(), Some(door.address));
        let endpoint = sender.endpoint().connect_peer(&address).unwrap();
        assert!(endpoint.is_watched());
        until(&receiver, || {
            sender.progress();
            !endpoint.is_watched()
        });
        assert_eq!(endpoint.error(), None);
        let sending = endpoint.tag_send(7, b"hello".to_vec());
        let receiving = receiver.tag_recv(7, u64::MAX, vec![0; 5]);
        until(&receiver, || {
            sender.progress();
            sending.is_done() && receiving.is_done()
        });
        assert_eq!((sending.wait().0, receiving.wait().1), (Ok(()), b"hello".to_vec()));
    }

    #[test]
    fn a_look_takes_a_few_of_many_who_come() {
        let worker = watched();
        let door = Door::open(&worker, Machine::of_this_thread().unwrap(), 2 * AT_ONCE).unwrap();
        let address: SocketAddr = (Ipv4Addr::LOCALHOST, door.address.port.get()).into();
        let _streams: Vec<_> =
            (0..AT_ONCE + 3).map(|_| TcpStream::connect(address).unwrap()).collect();
        let count = || door.kept.peers.borrow().len();
        assert!(worker.inner().watch.look(worker.inner()));
        assert_eq!(count(), AT_ONCE);
        assert!(worker.inner().watch.look(worker.inner()));
        assert_eq!(count(), AT_ONCE + 3);
        assert!(!worker.inner().watch.look(worker.inner()));
    }

    #[test]
    fn who_got_the_port_of_a_mesh_that_is_gone_is_not_taken_for_it() {
        let (receiver, sender) = (watched(), watched());
        let talker = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = NonZeroU16::new(talker.local_addr().unwrap().port()).unwrap();
        let local = Local { port, machine: Machine::of_this_thread().unwrap() };
        let address = PeerAddress::new(receiver.address().unwrap(), Some(local));
        let endpoint = sender.endpoint().connect_peer(&address).unwrap();
        talker.accept().unwrap().0.write_all(b"220 ready").unwrap();
        until(&sender, || endpoint.is_failed());
    }

    #[test]
    fn who_says_anything_is_hung_up_on() {
        let (worker, door, address) = door_for_two();
        let mut stranger = TcpStream::connect(address).unwrap();
        until(&worker, || door.kept.peers.borrow().len() == 1);
        stranger.write_all(b"GET / HTTP/1.1").unwrap();
        until(&worker, || door.kept.peers.borrow().is_empty());
    }

    #[test]
    fn a_door_that_goes_hangs_up_on_everybody() {
        let (worker, door, address) = door_for_two();
        let mut peer = TcpStream::connect(address).unwrap();
        until(&worker, || door.kept.peers.borrow().len() == 1);
        drop(door);
        assert_eq!(peer.read(&mut [0]).unwrap(), 0);
        assert!(TcpStream::connect(address).is_err());
        assert!(!worker.inner().watch.look(worker.inner()));
    }
}
