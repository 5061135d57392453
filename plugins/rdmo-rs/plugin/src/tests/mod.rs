//! The plugin under the test kit: hosts and initiators with UCX workers on this thread.

mod commands;
mod defects;
mod messages;
mod model;
mod shared;

use std::cell::RefCell;
use std::process::Command;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rdmo_protocol::data::{AM_ID, Flushed, Operation, Part, Request};
use rdmo_protocol::{ClientInit, MrReg, Protocol, RqCreate};
use ucx::{AmFlags, Endpoint, ErrorMode, Features, Memory, WorkerAddress};
use urom_pdk::DocaError;
use urom_pdk::memory::{Access, MemoryPath};
use urom_pdk::test_util::{Recording, Sent, SharedMemory, Worker};

use super::Rdmo;

const DEADLINE: Duration = Duration::from_secs(30);

const REGION: usize = 8192;

fn ucx_worker() -> ucx::Worker {
    let features = Features::AM | Features::RMA | Features::AMO64;
    // The plugin's settings; data longer than 64 KiB is announced.
    let builder = ucx::Context::builder(features).config("TCP_PUT_ENABLE", "n");
    builder.config("RNDV_THRESH", "64k").build().unwrap().worker().unwrap()
}

/// Whether UCX uses TCP alone, so that a host's own worker executes operations on its memory.
fn over_tcp() -> bool {
    std::env::var("UCX_TLS").is_ok_and(|transports| transports == "tcp")
}

#[test]
fn everything_goes_over_tcp_as_well() {
    if over_tcp() {
        return;
    }
    let mut tests = Command::new(std::env::current_exe().unwrap());
    let tests = tests.env("UCX_TLS", "tcp").output().unwrap();
    assert!(tests.status.success(), "{}", String::from_utf8_lossy(&tests.stdout));
}

struct Rig {
    plugin: Worker<Protocol>,
    workers: RefCell<Vec<ucx::Worker>>,
    connections: RefCell<Vec<u64>>,
    /// Memory that the plugin may still access after a test's hosts have left.
    memories: RefCell<Vec<Memory>>,
}

impl Drop for Rig {
    /// Closing an endpoint needs the progress of both ends, while the plugin exists.
    fn drop(&mut self) {
        let connections = self.connections.take();
        if connections.is_empty() || std::thread::panicking() {
            return;
        }
        connections.into_iter().for_each(|connection| self.plugin.leave(connection));
        for _ in 0..1000 {
            self.turn();
        }
    }
}

impl Rig {
    fn new() -> Rig {
        let plugin = Worker::<Protocol>::open::<Rdmo>();
        Rig {
            plugin,
            workers: RefCell::default(),
            connections: RefCell::default(),
            memories: RefCell::default(),
        }
    }

    fn with_initiator() -> (Rig, Host, Initiator) {
        let rig = Rig::new();
        let host = rig.host(0);
        let initiator = rig.initiator(&host);
        (rig, host, initiator)
    }

    fn sharing(path: MemoryPath) -> (Rig, Host, Initiator) {
        let rig = Rig::new();
        let host = rig.sharing_host(path);
        let initiator = rig.initiator(&host);
        (rig, host, initiator)
    }

    fn worker(&self) -> ucx::Worker {
        let worker = ucx_worker();
        self.workers.borrow_mut().push(worker.clone());
        worker
    }

    fn stop(&self, worker: &ucx::Worker) {
        let address = worker.address().unwrap();
        self.workers.borrow_mut().retain(|other| other.address().unwrap() != address);
    }

    fn turn(&self) {
        self.plugin.progress();
        for worker in self.workers.borrow().iter() {
            worker.progress();
        }
    }

    fn until<T>(&self, what: &str, mut done: impl FnMut() -> Option<T>) -> T {
        let began = Instant::now();
        loop {
            if let Some(done) = done() {
                return done;
            }
            assert!(began.elapsed() < DEADLINE, "{what} took too long");
            self.turn();
        }
    }

    fn wait<R: urom_abi::protocol::Reply>(&self, sent: Sent<R>) -> Result<R, DocaError> {
        self.until("an answer", || self.plugin.answer(&sent))
    }

    fn call<C: urom_abi::protocol::Request<Protocol = Protocol>>(
        &self,
        connection: u64,
        command: C,
    ) -> Result<C::Reply, DocaError> {
        self.wait(self.plugin.send_from(connection, command))
    }

    /// Makes a client with a region; `id` is also its connection's number.
    fn host(&self, id: u64) -> Host {
        self.host_on(id, id)
    }

    fn host_on(&self, connection: u64, id: u64) -> Host {
        let mut host = self.client(connection, id);
        host.rkey = self.register(&host, &host.memory);
        host
    }

    /// Makes a client that shares its region with the plugin's worker; its UCX worker is idle.
    fn sharing_host(&self, path: MemoryPath) -> Host {
        let mut host = self.client(0, 0);
        self.stop(&host.worker);
        let both = Access::LOCAL_READ_WRITE | Access::PCI_READ_WRITE;
        let shared = self.plugin.share_from(0, [0; REGION], both, path);
        host.rkey = self.register_export(&host, &shared).unwrap();
        host.shared = Some(shared);
        host
    }

    fn register_export(&self, host: &Host, shared: &SharedMemory) -> Result<u64, DocaError> {
        let (va, len) = (shared.view().as_ptr().addr() as u64, shared.view().len());
        let register = MrReg { va, len, packed_rkey: &[], packed_memh: &shared.export() };
        let registered = self.call(host.connection, register);
        registered.map(|registered| registered.rkey)
    }

    fn client(&self, connection: u64, id: u64) -> Host {
        let worker = self.worker();
        self.connections.borrow_mut().push(connection);
        let address = worker.address().unwrap();
        let init = ClientInit { id, addr: address.raw_bytes() };
        let plugin = self.call(connection, init).unwrap().addr.to_vec();
        let memory = Memory::allocate(worker.context(), REGION).unwrap();
        Host { connection, id, memory, shared: None, worker, rkey: 0, plugin }
    }

    fn register(&self, host: &Host, memory: &Memory) -> u64 {
        self.memories.borrow_mut().push(memory.clone());
        let (va, len) = (memory.address(), memory.len() as u64);
        let packed_rkey = &memory.remote_key().unwrap();
        let register = MrReg { va, len, packed_rkey, packed_memh: &[] };
        self.call(host.connection, register).unwrap().rkey
    }

    fn initiator(&self, host: &Host) -> Initiator {
        self.initiator_with(host, self.worker())
    }

    fn initiator_with(&self, host: &Host, worker: ucx::Worker) -> Initiator {
        let address = worker.address().unwrap();
        let create = RqCreate { addr: address.raw_bytes() };
        let rq_id = self.call(host.connection, create).unwrap().rq_id;
        Initiator { rq_id, ..self.unknown_peer(host, worker) }
    }

    fn unknown_peer(&self, host: &Host, worker: ucx::Worker) -> Initiator {
        let answers = Rc::new(RefCell::new(Vec::new()));
        let got = Rc::clone(&answers);
        let answered = move |message: ucx::Message<'_>| {
            got.borrow_mut().push(Flushed::read(message.header).unwrap().flush_id);
        };
        worker.set_am_handler(AM_ID, answered).unwrap();
        // SAFETY: the plugin's own address.
        let plugin = unsafe { WorkerAddress::from_raw(&host.plugin) }.unwrap();
        let endpoint = worker.endpoint().error_mode(ErrorMode::None).connect(&plugin).unwrap();
        Initiator { client: host.id, rq_id: u64::MAX, endpoint, answers }
    }

    fn flush(&self, initiator: &Initiator) {
        let flush_id = 0xbeef + initiator.answers.borrow().len() as u64;
        initiator.request(true, Operation::Flush { flush_id }, Vec::new());
        self.answered(initiator, flush_id);
    }

    fn answered(&self, initiator: &Initiator, flush_id: u64) {
        self.until("a flush", || {
            initiator.answers.borrow().last().filter(|id| **id == flush_id).copied()
        });
    }
}

/// A host. Its first word is a pointer, initially to the word after it.
struct Host {
    connection: u64,
    id: u64,
    worker: ucx::Worker,
    memory: Memory,
    shared: Option<SharedMemory>,
    rkey: u64,
    plugin: Vec<u8>,
}

impl Host {
    fn at(&self, offset: usize) -> u64 {
        let start = match &self.shared {
            Some(shared) => shared.view().as_ptr().addr() as u64,
            None => self.memory.address(),
        };
        start + offset as u64
    }

    fn write(&self, at: usize, bytes: &[u8]) {
        match &self.shared {
            Some(shared) => shared.view().copy_from(at as u64, bytes).unwrap(),
            None => self.memory.write(at, bytes),
        }
    }

    fn read(&self, at: usize, bytes: &mut [u8]) {
        match &self.shared {
            Some(shared) => shared.view().copy_to(at as u64, bytes).unwrap(),
            None => self.memory.read(at, bytes),
        }
    }

    fn point_to(&self, offset: usize) {
        self.write(0, &self.at(offset).to_le_bytes());
    }

    fn pointed(&self) -> usize {
        let word = u64::from_le_bytes(self.bytes(0));
        usize::try_from(word.wrapping_sub(self.at(0))).unwrap()
    }

    fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut bytes = [0; N];
        self.read(at, &mut bytes);
        bytes
    }

    fn append(&self) -> Operation {
        Operation::Append { pointer: self.at(0), pointer_rkey: self.rkey, data_rkey: self.rkey }
    }
}

struct Initiator {
    client: u64,
    rq_id: u64,
    endpoint: Endpoint,
    answers: Rc<RefCell<Vec<u64>>>,
}

impl Initiator {
    fn request(&self, fence: bool, operation: Operation, data: Vec<u8>) {
        let request = Request { client: self.client, fence, operation };
        self.send(request.header(&mut Request::BUFFER.clone()), data);
    }

    fn send(&self, header: &[u8], data: Vec<u8>) {
        self.endpoint.am_send_with(AM_ID, header, data, AmFlags::REPLY).detach();
    }

    fn append(&self, host: &Host, data: &[u8]) {
        self.request(false, host.append(), data.to_vec());
    }

    fn scatter(&self, parts: &[Part<'_>]) {
        let mut data = Vec::new();
        parts.iter().for_each(|part| part.write(&mut data).unwrap());
        self.request(false, Operation::Scatter { count: parts.len() as u64 }, data);
    }
}

/// Made by `cargo urom run --record` and `cargo urom call`: queues of a host that is not a client.
#[test]
fn a_recorded_failure_of_a_host_is_repeated() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/recordings/no-client.urec");
    let replay = Recording::open(file).unwrap().replay::<Rdmo>();
    assert_eq!((replay.commands, replay.compared), (2, 2));
}
