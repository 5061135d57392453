//! The listener of a worker in a mesh: its sockets let both ends detect that the other one leaves.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;
use std::rc::{Rc, Weak};

use rustix::net::{SocketFlags, accept_with};
use rustix::process::{Resource, getrlimit};

use crate::endpoint::FULL;
use crate::inner::WorkerState;
use crate::peer::{LoopbackAddress, Machine};
use crate::watch::WatchId;
use crate::worker::Worker;

const MOST: usize = 1024;

/// A mesh keeps at most this fraction of the process's descriptor limit.
const PART: u64 = 4;

const AT_ONCE: usize = 16;

fn most() -> usize {
    let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(descriptors / PART).unwrap_or(MOST).min(MOST)
}

pub(super) struct Listener {
    pub(super) address: LoopbackAddress,
    state: Rc<ListenerState>,
}

/// The listener's sockets. The worker watches them; dropping this value closes them.
struct ListenerState {
    worker: Worker,
    listener: Cell<Option<WatchId>>,
    max_peers: usize,
    peers: RefCell<HashSet<WatchId>>,
}

impl Listener {
    pub(super) fn open(worker: &Worker, machine: Machine) -> io::Result<Listener> {
        Listener::with_max(worker, machine, most())
    }

    fn with_max(worker: &Worker, machine: Machine, max_peers: usize) -> io::Result<Listener> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let port = NonZeroU16::new(listener.local_addr()?.port())
            .ok_or(io::ErrorKind::AddrNotAvailable)?;
        let state = Rc::new(ListenerState {
            worker: worker.clone(),
            listener: Cell::new(None),
            max_peers,
            peers: RefCell::default(),
        });
        let weak = Rc::downgrade(&state);
        let id =
            worker.inner().watch.add(Rc::new(listener.into()), move |inner, listener, _| {
                weak.upgrade().is_some_and(|state| state.accept(&weak, inner, listener))
            })?;
        state.listener.set(Some(id));
        Ok(Listener { address: LoopbackAddress { port, machine }, state })
    }

    pub(super) fn connections(&self) -> usize {
        self.state.peers.borrow().len()
    }
}

impl ListenerState {
    fn accept(&self, weak: &Weak<ListenerState>, inner: &WorkerState, listener: &OwnedFd) -> bool {
        for accepted in 0..AT_ONCE {
            let Ok(socket) = accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)
            else {
                return accepted != 0;
            };
            let socket = Rc::new(socket);
            if self.peers.borrow().len() < self.max_peers
                && let Ok(id) = self.keep(weak, inner, Rc::clone(&socket))
            {
                self.peers.borrow_mut().insert(id);
            } else {
                // A new connection has space for a byte; else the peer treats this worker as lost.
                let _ = rustix::io::write(&*socket, &FULL);
            }
        }
        true
    }

    fn keep(
        &self,
        weak: &Weak<ListenerState>,
        inner: &WorkerState,
        socket: Rc<OwnedFd>,
    ) -> io::Result<WatchId> {
        let weak = Weak::clone(weak);
        // Peers send nothing, so a readable socket has closed.
        inner.watch.add(socket, move |inner, _, id| {
            inner.watch.remove(id);
            if let Some(state) = weak.upgrade() {
                state.peers.borrow_mut().remove(&id);
            }
            inner.lose_peer();
            true
        })
    }
}

impl Drop for ListenerState {
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
    use crate::peer::PeerAddress;
    use crate::{Context, Features};

    fn listener_for_two() -> (Worker, Listener, SocketAddr) {
        let worker = watched();
        let listener = Listener::with_max(&worker, Machine::of_this_thread().unwrap(), 2).unwrap();
        let address = (Ipv4Addr::LOCALHOST, listener.address.port.get()).into();
        (worker, listener, address)
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
    fn a_full_listener_refuses_peers_until_one_leaves() {
        let (worker, listener, address) = listener_for_two();
        let count = || listener.state.peers.borrow().len();
        let come = || TcpStream::connect(address).unwrap();
        let first = [come(), come()];
        until(&worker, || count() == 2);
        let mut refused = come();
        refused.set_nonblocking(true).unwrap();
        let (mut said, mut answer) = (refused.try_clone().unwrap(), [0]);
        until(&worker, || matches!(refused.peek(&mut [0]), Ok(1)));
        assert_eq!((said.read(&mut answer).unwrap(), answer), (1, FULL));
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
    fn an_endpoint_to_a_full_mesh_goes_on_unwatched() {
        let (receiver, sender) = (watched(), watched());
        let listener =
            Listener::with_max(&receiver, Machine::of_this_thread().unwrap(), 1).unwrap();
        let _unknown_peer =
            TcpStream::connect((Ipv4Addr::LOCALHOST, listener.address.port.get())).unwrap();
        until(&receiver, || listener.state.peers.borrow().len() == 1);
        let address = PeerAddress::new(receiver.address().unwrap(), Some(listener.address));
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
        let listener =
            Listener::with_max(&worker, Machine::of_this_thread().unwrap(), 2 * AT_ONCE).unwrap();
        let address: SocketAddr = (Ipv4Addr::LOCALHOST, listener.address.port.get()).into();
        let _streams: Vec<_> =
            (0..AT_ONCE + 3).map(|_| TcpStream::connect(address).unwrap()).collect();
        let count = || listener.state.peers.borrow().len();
        assert!(worker.inner().watch.look(worker.inner()));
        assert_eq!(count(), AT_ONCE);
        assert!(worker.inner().watch.look(worker.inner()));
        assert_eq!(count(), AT_ONCE + 3);
        assert!(!worker.inner().watch.look(worker.inner()));
    }

    #[test]
    fn a_foreign_program_on_the_port_of_a_closed_mesh_is_detected() {
        let (receiver, sender) = (watched(), watched());
        let talker = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = NonZeroU16::new(talker.local_addr().unwrap().port()).unwrap();
        let local = LoopbackAddress { port, machine: Machine::of_this_thread().unwrap() };
        let address = PeerAddress::new(receiver.address().unwrap(), Some(local));
        let endpoint = sender.endpoint().connect_peer(&address).unwrap();
        talker.accept().unwrap().0.write_all(b"220 ready").unwrap();
        until(&sender, || endpoint.is_failed());
    }

    #[test]
    fn a_peer_that_sends_data_is_disconnected() {
        let (worker, listener, address) = listener_for_two();
        let mut unknown_peer = TcpStream::connect(address).unwrap();
        until(&worker, || listener.state.peers.borrow().len() == 1);
        unknown_peer.write_all(b"GET / HTTP/1.1").unwrap();
        until(&worker, || listener.state.peers.borrow().is_empty());
    }

    #[test]
    fn a_closed_socket_closes_its_connections() {
        let (worker, listener, address) = listener_for_two();
        let mut peer = TcpStream::connect(address).unwrap();
        until(&worker, || listener.state.peers.borrow().len() == 1);
        drop(listener);
        assert_eq!(peer.read(&mut [0]).unwrap(), 0);
        assert!(TcpStream::connect(address).is_err());
        assert!(!worker.inner().watch.look(worker.inner()));
    }
}
