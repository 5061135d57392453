//! A raw client: a host that uses the private protocol directly, and can misuse it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::rc::Rc;
use std::time::Instant;

use ucx::{AmData, AmFlags, CloseMode, Endpoint, Worker};
use urom_abi::DocaStatus;
use urom_wire::control::{
    Attach, DaemonToHost, Failure, HostToDaemon, HostToWorker, PluginEntry, StartWorker,
    WorkerToHost,
};
use urom_wire::envelope::{AM_COMMANDS, Envelope, VerificationTag, frames};
use urom_wire::frame::{Header, Notification};
use urom_wire::fuzzing::frames as bytes_of;
use urom_wire::hello::{Hello, Role};
use urom_wire::key::Key;
use urom_wire::ring::{Ring, RingDescriptors, cells_of};
use urom_wire::stream::StreamError;

use super::TIMEOUT;
use super::link::Link;
use super::plugins::Plugins;
use super::uromd::Uromd;
use super::way::{CHANNEL, hand_ring, over_ucx};
pub(crate) use crate::compile::op;

pub(crate) struct Client {
    pub(crate) link: Link<DaemonToHost, HostToDaemon>,
    key: Option<Key>,
    pub(crate) plugins: Vec<PluginEntry>,
    pub(crate) cpus: String,
    pub(crate) max_message: u64,
    last_request: u64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Started {
    pub(crate) id: u64,
    pub(crate) address: SocketAddr,
    pub(crate) token: u128,
}

/// A request for a worker with the first plugin and any id.
pub(crate) fn any() -> StartWorker {
    StartWorker { id: u64::MAX, plugins: 1, gid: 0, env: None, cpus: None }
}

pub(crate) fn served() -> (Uromd, Client) {
    served_with(&[])
}

pub(crate) fn served_with(args: &[&str]) -> (Uromd, Client) {
    let uromd = Uromd::obedient(args);
    let client = Client::connect(uromd.address);
    (uromd, client)
}

pub(crate) fn serving(plugins: &Plugins) -> (Uromd, Client) {
    let uromd = Uromd::start(plugins);
    let client = Client::connect(uromd.address);
    (uromd, client)
}

pub(crate) fn attached(max_inflight: u32) -> (Uromd, Client, Connection) {
    let (uromd, mut client) = served();
    let host = client.attach(any(), max_inflight);
    (uromd, client, host)
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Client {
        Client::connect_with(address, None).unwrap()
    }

    pub(crate) fn connect_with(
        address: SocketAddr,
        key: Option<&Key>,
    ) -> Result<Client, StreamError> {
        let secret = key.map(Key::daemon_secret);
        let hello = Hello::new(Role::Host);
        let link = Link::open(address, hello, Role::Daemon, secret, || HostToDaemon::Ping)?;
        let (plugins, cpus, key) = (Vec::new(), String::new(), key.cloned());
        let mut client = Client { link, key, plugins, cpus, max_message: 0, last_request: 0 };
        match client.receive() {
            DaemonToHost::Welcome { plugins, cpus, max_message } => {
                (client.plugins, client.cpus, client.max_message) = (plugins, cpus, max_message);
            }
            other => panic!("a Welcome, not {other:?}"),
        }
        Ok(client)
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.plugins.iter().map(|entry| entry.name.as_str()).collect()
    }

    fn receive(&self) -> DaemonToHost {
        loop {
            match self.link.receive().unwrap() {
                DaemonToHost::Ping => {}
                message => return message,
            }
        }
    }

    pub(crate) fn ask(&mut self, worker: StartWorker) -> u64 {
        self.last_request += 1;
        self.link.send(HostToDaemon::Start { request: self.last_request, worker });
        self.last_request
    }

    pub(crate) fn answer(&self) -> (u64, Result<Started, Failure>) {
        match self.receive() {
            DaemonToHost::Started { request, id, address, token } => {
                (request, Ok(Started { id, address, token }))
            }
            DaemonToHost::Failed { request, failure } => (request, Err(failure)),
            other => panic!("an answer, not {other:?}"),
        }
    }

    pub(crate) fn start(&mut self, worker: StartWorker) -> Result<Started, Failure> {
        self.ask(worker);
        self.answer().1
    }

    pub(crate) fn group(&mut self, gid: u32) -> Vec<u64> {
        self.link.send(HostToDaemon::Group { request: 77, gid });
        match self.receive() {
            DaemonToHost::Group { request: 77, ids } => ids,
            other => panic!("a Group, not {other:?}"),
        }
    }

    pub(crate) fn describe(&mut self, plugin: u64) -> Result<Vec<u8>, Failure> {
        self.link.send(HostToDaemon::Describe { request: 78, plugin });
        match self.receive() {
            DaemonToHost::Description { request: 78, description } => Ok(description.to_vec()),
            DaemonToHost::Failed { request: 78, failure } => Err(failure),
            other => panic!("a Description, not {other:?}"),
        }
    }

    pub(crate) fn attach(&mut self, worker: StartWorker, max_inflight: u32) -> Connection {
        let started = self.start(worker).unwrap();
        self.enter(started, max_inflight)
    }

    /// Attaches over UCX, like a remote host.
    pub(crate) fn attach_from_afar(
        &mut self,
        worker: StartWorker,
        max_inflight: u32,
    ) -> Connection {
        let started = self.start(worker).unwrap();
        let key = self.key.as_ref();
        Connection::attach_as(started, key, max_inflight, 1 << 40, false).unwrap()
    }

    pub(crate) fn enter(&self, started: Started, max_inflight: u32) -> Connection {
        let key = self.key.as_ref();
        Connection::attach_as(started, key, max_inflight, 1 << 40, true).unwrap()
    }
}

/// Opens a host's stream, and returns it with the daemon's first message.
pub(crate) fn first_message(uromd: &Uromd) -> (Link<DaemonToHost, HostToDaemon>, DaemonToHost) {
    let link = Link::open(uromd.address, Hello::new(Role::Host), Role::Daemon, None, || {
        HostToDaemon::Ping
    })
    .unwrap();
    let message = link.receive().unwrap();
    (link, message)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) slot: u16,
    pub(crate) status: DocaStatus,
    pub(crate) payload: Option<Vec<u8>>,
    pub(crate) trace: Option<Vec<u8>>,
}

pub(crate) struct Connection {
    pub(crate) link: Link<WorkerToHost, HostToWorker>,
    pub(crate) started: Started,
    pub(crate) max_message: u64,
    pub(crate) address: Vec<u8>,
    pub(crate) envelope: Envelope,
    way: Way,
    notes: Rc<RefCell<VecDeque<Note>>>,
    /// Number of UCX messages that contained the notes.
    pub(crate) messages: Rc<RefCell<usize>>,
    refusal: RefCell<Option<Failure>>,
}

enum Way {
    Ring(RefCell<Ring>, RingDescriptors),
    Ucx { endpoint: Endpoint, worker: Worker },
}

impl Connection {
    pub(crate) fn attach(started: Started, max_inflight: u32) -> Result<Connection, Failure> {
        Connection::attach_with(started, max_inflight, 1 << 40)
    }

    pub(crate) fn attach_with(
        started: Started,
        max_inflight: u32,
        max_message: u64,
    ) -> Result<Connection, Failure> {
        Connection::attach_as(started, None, max_inflight, max_message, true)
    }

    fn attach_as(
        started: Started,
        key: Option<&Key>,
        max_inflight: u32,
        max_message: u64,
        is_near: bool,
    ) -> Result<Connection, Failure> {
        let (hello, secret) =
            (Hello::new(Role::Host), key.map(|key| key.worker_secret(started.id)));
        let link = Link::open(started.address, hello, Role::Worker, secret, || HostToWorker::Ping)
            .unwrap();
        link.send(HostToWorker::Attach(Attach {
            token: started.token,
            max_inflight,
            max_message,
            program: "the client".to_owned(),
        }));
        let (socket, address, channel, max_message) = loop {
            match link.receive() {
                Ok(WorkerToHost::Ping) => {}
                Ok(WorkerToHost::Attached {
                    socket, ucx_address, channel, max_message, ..
                }) => {
                    break (socket, ucx_address, channel, max_message);
                }
                Ok(WorkerToHost::Refused(failure)) => return Err(failure),
                Ok(other) => panic!("an answer to Attach, not {other:?}"),
                Err(error) => panic!("an answer to Attach, not {error}"),
            }
        };
        let notes: Rc<RefCell<VecDeque<Note>>> = Rc::default();
        let messages: Rc<RefCell<usize>> = Rc::default();
        let tag = VerificationTag::new(started.token);
        let way = if is_near {
            let (ring, descriptors) = hand_ring(started.token, socket);
            Way::Ring(RefCell::new(ring), descriptors)
        } else {
            let (into, count) = (Rc::clone(&notes), Rc::clone(&messages));
            let take = move |message: ucx::Message<'_>| {
                let AmData::Eager(bytes) = message.data else { panic!("an eager message") };
                let (envelope, bytes) = Envelope::split(bytes).expect("an envelope");
                assert_eq!(envelope, Envelope { tag, channel: CHANNEL });
                *count.borrow_mut() += 1;
                let frames = frames(bytes).map(Result::unwrap);
                into.borrow_mut().extend(frames.map(|(header, body)| note(header, body)));
            };
            let (endpoint, worker) = over_ucx(&link, (&address, channel), take);
            Way::Ucx { endpoint, worker }
        };
        let envelope = Envelope { tag, channel };
        let refusal = RefCell::default();
        Ok(Connection {
            link,
            started,
            max_message,
            address,
            envelope,
            way,
            notes,
            messages,
            refusal,
        })
    }

    pub(crate) fn progress_until(&self, done: impl Fn() -> bool) {
        let deadline = Instant::now() + TIMEOUT;
        while !done() {
            assert!(Instant::now() < deadline, "nothing comes");
            if !self.progress() {
                std::thread::yield_now();
            }
        }
    }

    /// Closes UCX, and keeps the stream.
    pub(crate) fn break_ucx(self) -> Link<WorkerToHost, HostToWorker> {
        if let Way::Ucx { endpoint, worker } = self.way {
            endpoint.close(CloseMode::Force);
            drop(worker);
        }
        self.link
    }

    /// The ring's memory, and the worker's doorbell.
    pub(crate) fn ring(&self) -> (BorrowedFd<'_>, BorrowedFd<'_>) {
        let Way::Ring(_, descriptors) = &self.way else { panic!("a ring") };
        let [memory, bell, _] = descriptors.as_fds();
        (memory, bell)
    }

    fn progress(&self) -> bool {
        match &self.way {
            Way::Ring(ring, _) => {
                let (reader, _) = &mut *ring.borrow_mut();
                let frame = reader.receive().unwrap();
                let note = frame.map(|(header, body)| note(header, body));
                let any = note.is_some();
                self.notes.borrow_mut().extend(note);
                any
            }
            Way::Ucx { worker, .. } => worker.progress(),
        }
    }

    /// Sends frames in UCX's format. Takes answers only as far as sending requires.
    pub(crate) fn send_bytes(&self, bytes: Vec<u8>) {
        match &self.way {
            Way::Ring(ring, _) => {
                let (_, writer) = &mut *ring.borrow_mut();
                for frame in frames(&bytes) {
                    let ((header, body), mut part) = (frame.unwrap(), 0);
                    let deadline = Instant::now() + TIMEOUT;
                    while part < cells_of(body.len()) {
                        assert!(Instant::now() < deadline, "the worker reads nothing");
                        part = writer.write(header, body, part);
                        // A worker that refused this host does not read.
                        if self.is_refused() {
                            return;
                        }
                    }
                }
                writer.announce();
            }
            Way::Ucx { worker, endpoint } => {
                let message = bytes_of::message(self.envelope, &bytes);
                endpoint.am_send_with(AM_COMMANDS, &[], message, AmFlags::EAGER).detach();
                worker.progress();
            }
        }
    }

    pub(crate) fn frame(&self, slot: u16, bit: u8, payload: &[u8]) -> Vec<u8> {
        bytes_of::command(slot, bit, payload)
    }

    pub(crate) fn send(&self, slot: u16, payload: &[u8]) {
        self.send_bytes(self.frame(slot, 0, payload));
    }

    pub(crate) fn ask(&self, slot: u16, op: u64, word: u64) {
        self.send(slot, &[op.to_le_bytes(), word.to_le_bytes()].concat());
    }

    pub(crate) fn note(&self) -> Note {
        self.progress_until(|| !self.notes.borrow().is_empty());
        self.notes.borrow_mut().pop_front().unwrap()
    }

    pub(crate) fn waiting(&self) -> usize {
        self.notes.borrow().len()
    }

    pub(crate) fn call(&self, op: u64, word: u64) -> Note {
        self.ask(0, op, word);
        self.note()
    }

    pub(crate) fn pid(&self) -> u64 {
        u64::from_le_bytes(self.call(op::PID, 0).payload.unwrap().try_into().unwrap())
    }

    pub(crate) fn is_refused(&self) -> bool {
        if self.refusal.borrow().is_some() {
            return true;
        }
        match self.link.try_receive() {
            Some(Ok(WorkerToHost::Refused(failure))) => {
                self.refusal.replace(Some(failure));
            }
            Some(Err(error)) => panic!("a refusal, not {error}"),
            Some(Ok(_)) | None => {}
        }
        self.refusal.borrow().is_some()
    }

    /// Returns the worker's refusal. UCX is progressed meanwhile, for pending sends.
    pub(crate) fn refusal(&self) -> Failure {
        self.progress_until(|| self.is_refused());
        self.refusal.take().unwrap()
    }
}

fn note(header: Header, body: &[u8]) -> Note {
    let Notification { slot, status, payload, trace, .. } =
        Notification::read(header, body).unwrap();
    let [payload, trace] = [payload, trace].map(|bytes| bytes.map(<[u8]>::to_vec));
    Note { slot, status, payload, trace }
}
