//! A daemon and a worker that do as a test wants.

mod tests;

use std::cell::RefCell;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use ucx::{AmFlags, Endpoint, WorkerAddress};
use urom_abi::DocaError;
use urom_wire::control::{
    Attach, DaemonToHost, HostToDaemon, HostToWorker, PluginBuild, PluginEntry, WorkerToHost,
};
use urom_wire::frame::{AM_COMMANDS, AM_GREET, AM_NOTIFICATIONS, commands, notification_header};
use urom_wire::hello::{Hello, Role};
use urom_wire::pass::Pass;
use urom_wire::patience::Patience;
use urom_wire::plain::Plain;
use urom_wire::stream;
use urom_wire::ucx_context::context;

use crate::support::until;

/// What the fake daemon gives as the ticket, and the pass that follows from it.
const TICKET: u128 = 77;
const PASS: [u8; Pass::LEN] = [77, 0, 0, 0];

/// The fake's side of a conversation: blocking, on a thread of its own.
struct Fake {
    runtime: Runtime,
    listener: TcpListener,
}

impl Fake {
    fn new() -> (Fake, SocketAddr) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).unwrap();
        let address = listener.local_addr().unwrap();
        (Fake { runtime, listener }, address)
    }

    fn accept(&self, hello: Hello) -> TcpStream {
        self.runtime.block_on(async {
            let (mut stream, _) = self.listener.accept().await.unwrap();
            // A host that does not like the hello says so in its own way.
            let _ = stream::greet(&mut stream, hello, Role::Host, None, Patience::default()).await;
            stream
        })
    }

    /// Hangs up on the next host in the middle of its greeting.
    fn cut_off(&self, role: Role) {
        self.runtime.block_on(async {
            let (mut stream, _) = self.listener.accept().await.unwrap();
            stream.write_all(Hello::new(role).as_bytes()).await.unwrap();
        });
    }

    fn welcome(&self, max_message: u64) -> TcpStream {
        let mut stream = self.accept(Hello::new(Role::Daemon));
        let plugins = vec![PluginEntry {
            id: 1,
            build: PluginBuild { version: 1, fingerprint: None },
            name: "fake".to_owned(),
        }];
        self.send(
            &mut stream,
            &DaemonToHost::Welcome { plugins, cpus: "0".to_owned(), max_message },
        );
        stream
    }

    fn send<T: serde::Serialize>(&self, stream: &mut TcpStream, message: &T) {
        self.runtime.block_on(stream::send(stream, message)).unwrap();
    }

    /// Answers the next start with an address.
    fn start_at(&self, stream: &mut TcpStream, address: SocketAddr) {
        loop {
            match self.runtime.block_on(stream::receive(stream, Patience::default())).unwrap() {
                HostToDaemon::Ping => {}
                HostToDaemon::Start { request, .. } => {
                    return self.send(
                        stream,
                        &DaemonToHost::Started { request, id: 9, address, ticket: TICKET },
                    );
                }
                other => panic!("a start, not {other:?}"),
            }
        }
    }

    /// Lets the host in as a worker does, without greeting it over UCX.
    fn attach(&self, max_message: u64) -> Attached {
        let mut host = self.meet();
        let address = host.worker.address().unwrap().as_bytes().to_vec();
        self.let_in(&mut host, address, max_message);
        host
    }

    fn let_in(&self, host: &mut Attached, ucx_address: Vec<u8>, max_message: u64) {
        let plugins = vec![];
        let word = WorkerToHost::Attached { ucx_address, channel: 5, max_message, plugins };
        self.send(&mut host.stream, &word);
    }

    /// Hears the host that comes to the worker.
    fn meet(&self) -> Attached {
        let mut stream = self.accept(Hello::new(Role::Worker));
        let HostToWorker::Attach(attach) =
            self.runtime.block_on(stream::receive(&mut stream, Patience::default())).unwrap()
        else {
            panic!("an Attach")
        };
        assert_eq!(attach.ticket, TICKET);
        let worker = context().build().unwrap().worker().unwrap();
        let slots: Rc<RefCell<Vec<u16>>> = Rc::default();
        let seen = Rc::clone(&slots);
        worker
            .set_am_handler(AM_COMMANDS, move |message| {
                let ucx::Data::Eager(bytes) = message.data else { panic!("an eager message") };
                let frames = bytes.strip_prefix(&PASS).expect("a host sends its pass");
                seen.borrow_mut().extend(commands(frames).map(|command| command.unwrap().slot));
            })
            .unwrap();
        worker.set_am_handler(AM_GREET, |_| {}).unwrap();
        // SAFETY: from the library in this process.
        let address = unsafe { WorkerAddress::from_bytes(&attach.ucx_address) }.unwrap();
        let endpoint = worker.endpoint().connect(&address).unwrap();
        Attached { stream, attach, worker, endpoint, slots }
    }
}

struct Attached {
    stream: TcpStream,
    attach: Attach,
    worker: ucx::Worker,
    endpoint: Endpoint,
    /// The slots of the commands that came.
    slots: Rc<RefCell<Vec<u16>>>,
}

impl Attached {
    fn greet(&self) {
        let channel = self.attach.channel.to_le_bytes();
        self.endpoint.am_send_with(AM_GREET, &channel, (), AmFlags::EAGER).detach();
    }

    fn send(&self, bytes: Vec<u8>) {
        self.send_raw([PASS.as_slice(), &bytes].concat());
    }

    fn send_raw(&self, bytes: Vec<u8>) {
        let _ = self.endpoint.am_send_with(AM_NOTIFICATIONS, &[], bytes, AmFlags::EAGER).wait();
    }

    /// Progresses until so many commands have come in all.
    fn wait_for(&self, count: usize) {
        until("no command comes", || {
            self.worker.progress();
            self.slots.borrow().len() >= count
        });
    }

    fn frame(&self, slot: u16, status: DocaError, payload: Option<&[u8]>) -> Vec<u8> {
        let (header, len, sent) = notification_header(self.attach.channel, slot, status, payload);
        [&header[..len], &payload.unwrap_or_default()[..sent]].concat()
    }
}
