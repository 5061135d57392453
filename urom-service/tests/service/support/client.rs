//! A raw client: a host that speaks the private protocol, and can speak it wrongly.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Instant;

use ucx::{AmFlags, ContextBuilder, Data, Endpoint, Worker, WorkerAddress};
use urom_abi::DocaError;
use urom_wire::control::{
    Attach, DaemonToHost, Failure, HostToDaemon, HostToWorker, PluginEntry, Reach, StartWorker,
    WorkerToHost,
};
use urom_wire::envelope::{AM_COMMANDS, AM_GREET, AM_NOTIFICATIONS, Envelope, Pass, frames};
use urom_wire::frame::Notification;
use urom_wire::fuzzing::frames as bytes_of;
use urom_wire::hello::{Hello, Role};
use urom_wire::key::Key;
use urom_wire::stream::StreamError;
use urom_wire::ucx_context::context;

use super::PATIENCE;
use super::link::Link;
use super::plugins::Plugins;
use super::uromd::Uromd;
pub(crate) use crate::compile::op;

/// A host's stream to the daemon.
pub(crate) struct Client {
    pub(crate) link: Link<DaemonToHost, HostToDaemon>,
    key: Option<Key>,
    pub(crate) plugins: Vec<PluginEntry>,
    pub(crate) cpus: String,
    pub(crate) max_message: u64,
    last_request: u64,
}

/// Where a worker is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Started {
    pub(crate) id: u64,
    pub(crate) address: SocketAddr,
    pub(crate) ticket: u128,
}

/// A worker with the first plugin, with an id of the daemon's choosing.
pub(crate) fn any() -> StartWorker {
    StartWorker { id: u64::MAX, plugins: 1, gid: 0, env: None, cpus: None }
}

/// A daemon with the obedient plugin, and a host of it.
pub(crate) fn served() -> (Uromd, Client) {
    served_with(&[])
}

/// The same with arguments for the daemon.
pub(crate) fn served_with(args: &[&str]) -> (Uromd, Client) {
    let uromd = Uromd::obedient(args);
    let client = Client::connect(uromd.address);
    (uromd, client)
}

/// A daemon with these plugins, and a host of it.
pub(crate) fn serving(plugins: &Plugins) -> (Uromd, Client) {
    let uromd = Uromd::start(plugins);
    let client = Client::connect(uromd.address);
    (uromd, client)
}

/// A daemon with the obedient plugin, and a host at a worker of it.
pub(crate) fn attached(max_inflight: u32) -> (Uromd, Client, Connection) {
    let (uromd, mut client) = served();
    let host = client.attach(any(), max_inflight);
    (uromd, client, host)
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Client {
        Client::connect_with(address, None).unwrap()
    }

    /// Connects and shows a key.
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

    /// Asks for a worker without waiting.
    pub(crate) fn ask(&mut self, worker: StartWorker) -> u64 {
        self.last_request += 1;
        self.link.send(HostToDaemon::Start { request: self.last_request, worker });
        self.last_request
    }

    /// The answer to the oldest request.
    pub(crate) fn answer(&self) -> (u64, Result<Started, Failure>) {
        match self.receive() {
            DaemonToHost::Started { request, id, address, ticket } => {
                (request, Ok(Started { id, address, ticket }))
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

    /// Asks for the description of a plugin.
    pub(crate) fn describe(&mut self, plugin: u64) -> Result<Vec<u8>, Failure> {
        self.link.send(HostToDaemon::Describe { request: 78, plugin });
        match self.receive() {
            DaemonToHost::Description { request: 78, description } => Ok(description.to_vec()),
            DaemonToHost::Failed { request: 78, failure } => Err(failure),
            other => panic!("a Description, not {other:?}"),
        }
    }

    /// Starts a worker and attaches to it.
    pub(crate) fn attach(&mut self, worker: StartWorker, max_inflight: u32) -> Connection {
        let started = self.start(worker).unwrap();
        self.enter(started, max_inflight)
    }

    /// Attaches to a worker that was started.
    pub(crate) fn enter(&self, started: Started, max_inflight: u32) -> Connection {
        let key = self.key.as_ref();
        Connection::attach_as(started, key, max_inflight, 1 << 40, context()).unwrap()
    }
}

/// What the daemon says first to a host, and the stream.
pub(crate) fn first_message(uromd: &Uromd) -> (Link<DaemonToHost, HostToDaemon>, DaemonToHost) {
    let link = Link::open(uromd.address, Hello::new(Role::Host), Role::Daemon, None, || {
        HostToDaemon::Ping
    })
    .unwrap();
    let message = link.receive().unwrap();
    (link, message)
}

/// A notification as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) slot: u16,
    pub(crate) status: DocaError,
    pub(crate) payload: Option<Vec<u8>>,
}

/// A host's connection to a worker.
pub(crate) struct Connection {
    pub(crate) link: Link<WorkerToHost, HostToWorker>,
    pub(crate) started: Started,
    pub(crate) max_message: u64,
    /// Where its worker is reached over UCX.
    pub(crate) address: Vec<u8>,
    /// The envelope of its messages.
    pub(crate) envelope: Envelope,
    pub(crate) worker: Worker,
    pub(crate) endpoint: Endpoint,
    notes: Rc<RefCell<VecDeque<Note>>>,
    /// How many messages brought them.
    pub(crate) messages: Rc<RefCell<usize>>,
}

const CHANNEL: u16 = 0x4711;

impl Connection {
    pub(crate) fn attach(started: Started, max_inflight: u32) -> Result<Connection, Failure> {
        Connection::attach_with(started, max_inflight, 1 << 40)
    }

    pub(crate) fn attach_with(
        started: Started,
        max_inflight: u32,
        max_message: u64,
    ) -> Result<Connection, Failure> {
        Connection::attach_as(started, None, max_inflight, max_message, context())
    }

    /// Attaches as from another machine.
    pub(crate) fn attach_from_afar(
        started: Started,
        max_inflight: u32,
    ) -> Result<Connection, Failure> {
        Connection::attach_as(started, None, max_inflight, 1 << 40, context().config("TLS", "tcp"))
    }

    fn attach_as(
        started: Started,
        key: Option<&Key>,
        max_inflight: u32,
        max_message: u64,
        context: ContextBuilder,
    ) -> Result<Connection, Failure> {
        let (hello, secret) =
            (Hello::new(Role::Host), key.map(|key| key.worker_secret(started.id)));
        let link = Link::open(started.address, hello, Role::Worker, secret, || HostToWorker::Ping)
            .unwrap();
        let worker = context.build().unwrap().worker().unwrap();
        let notes: Rc<RefCell<VecDeque<Note>>> = Rc::default();
        let pass = Pass::new(started.ticket);
        let (messages, greeted) = (Rc::new(RefCell::new(0)), Rc::new(RefCell::new(false)));
        let (into, count) = (Rc::clone(&notes), Rc::clone(&messages));
        let handler = move |message: ucx::Message<'_>| {
            let Data::Eager(bytes) = message.data else { panic!("an eager message") };
            let (envelope, bytes) = Envelope::split(bytes).expect("an envelope");
            assert_eq!(envelope, Envelope { pass, channel: CHANNEL });
            *count.borrow_mut() += 1;
            for frame in frames(bytes) {
                let (header, body) = frame.unwrap();
                let frame = Notification::read(header, body).unwrap();
                let payload = frame.payload.map(|payload| payload.to_vec());
                into.borrow_mut().push_back(Note {
                    slot: frame.slot,
                    status: frame.status,
                    payload,
                });
            }
        };
        worker.set_am_handler(AM_NOTIFICATIONS, handler).unwrap();
        let seen = Rc::clone(&greeted);
        worker
            .set_am_handler(AM_GREET, move |message| {
                assert_eq!(message.header, CHANNEL.to_le_bytes());
                *seen.borrow_mut() = true;
            })
            .unwrap();
        link.send(HostToWorker::Attach(Attach {
            ticket: started.ticket,
            max_inflight,
            max_message,
            program: "the client".to_owned(),
        }));
        let (address, channel, max_message) = loop {
            match link.receive() {
                Ok(WorkerToHost::Ping) => {}
                Ok(WorkerToHost::Attached { ucx_address, channel, max_message, .. }) => {
                    break (ucx_address, channel, max_message);
                }
                Ok(WorkerToHost::Refused(failure)) => return Err(failure),
                Ok(other) => panic!("an answer to Attach, not {other:?}"),
                Err(error) => panic!("an answer to Attach, not {error}"),
            }
        };
        let own = worker.address().unwrap().as_bytes().to_vec();
        link.send(HostToWorker::Reach(Reach { ucx_address: own, channel: CHANNEL }));
        // SAFETY: from a worker that this test started.
        let ucx_address = unsafe { WorkerAddress::from_bytes(&address) }.unwrap();
        let endpoint = worker.endpoint().connect(&ucx_address).unwrap();
        endpoint.am_send_with(AM_GREET, &channel.to_le_bytes(), (), AmFlags::EAGER).detach();
        let connection = Connection {
            link,
            started,
            max_message,
            address,
            envelope: Envelope { pass, channel },
            worker,
            endpoint,
            notes,
            messages,
        };
        connection.progress_until(|| *greeted.borrow());
        Ok(connection)
    }

    pub(crate) fn progress_until(&self, done: impl Fn() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !done() {
            assert!(Instant::now() < deadline, "nothing comes");
            if !self.worker.progress() {
                std::thread::yield_now();
            }
        }
    }

    /// Sends bytes as they are.
    pub(crate) fn send_bytes(&self, bytes: Vec<u8>) {
        let message = bytes_of::message(self.envelope, &bytes);
        self.endpoint.am_send_with(AM_COMMANDS, &[], message, AmFlags::EAGER).detach();
        self.worker.progress();
    }

    /// One command as a frame.
    pub(crate) fn frame(&self, slot: u16, bit: u8, payload: &[u8]) -> Vec<u8> {
        bytes_of::command(slot, bit, payload)
    }

    pub(crate) fn send(&self, slot: u16, payload: &[u8]) {
        self.send_bytes(self.frame(slot, 0, payload));
    }

    /// A command of the obedient plugin.
    pub(crate) fn ask(&self, slot: u16, op: u64, word: u64) {
        self.send(slot, &[op.to_le_bytes(), word.to_le_bytes()].concat());
    }

    /// The next notification.
    pub(crate) fn note(&self) -> Note {
        self.progress_until(|| !self.notes.borrow().is_empty());
        self.notes.borrow_mut().pop_front().unwrap()
    }

    /// How many notifications wait.
    pub(crate) fn waiting(&self) -> usize {
        self.notes.borrow().len()
    }

    /// Sends a command and takes its notification.
    pub(crate) fn call(&self, op: u64, word: u64) -> Note {
        self.ask(0, op, word);
        self.note()
    }

    /// The worker's process.
    pub(crate) fn pid(&self) -> u64 {
        u64::from_le_bytes(self.call(op::PID, 0).payload.unwrap().try_into().unwrap())
    }

    /// Why the worker threw this host out. What was sent may still have to leave, so UCX goes on
    /// meanwhile.
    pub(crate) fn refusal(&self) -> Failure {
        let told = Cell::new(None);
        self.progress_until(|| match self.link.try_receive() {
            Some(Ok(WorkerToHost::Refused(failure))) => {
                told.set(Some(failure));
                true
            }
            Some(Err(error)) => panic!("a refusal, not {error}"),
            Some(Ok(_)) | None => false,
        });
        told.take().unwrap()
    }
}
