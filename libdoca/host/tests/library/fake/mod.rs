//! A fake daemon and worker with scripted behaviour.

mod rings;
mod tests;

use std::cell::RefCell;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use ucx::{AmFlags, Endpoint, WorkerAddress};
use urom_abi::DocaStatus;
use urom_wire::control::{
    DaemonToHost, HandoverAddress, HostToDaemon, HostToWorker, PluginBuild, PluginEntry,
    WorkerToHost,
};
use urom_wire::envelope::{
    AM_COMMANDS, AM_HANDSHAKE, AM_NOTIFICATIONS, Envelope, VerificationTag, frames,
};
use urom_wire::fuzzing::frames as bytes_of;
use urom_wire::hello::{Hello, Role};
use urom_wire::peer_timeout::PeerTimeout;
use urom_wire::plain::Plain;
use urom_wire::stream;
use urom_wire::ucx_context::context;

use crate::support::until;

const TOKEN: u128 = 77;
const ENVELOPE: Envelope = Envelope { tag: VerificationTag::new(TOKEN), channel: 5 };

/// The fake's side of a conversation: blocking, on its own thread.
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
            // The host handles a bad hello itself.
            let _ = stream::handshake(&mut stream, hello, Role::Host, None, PeerTimeout::default())
                .await;
            stream
        })
    }

    /// Closes the next host's connection during its handshake.
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

    fn start_at(&self, stream: &mut TcpStream, address: SocketAddr) {
        loop {
            match self.runtime.block_on(stream::receive(stream, PeerTimeout::default())).unwrap() {
                HostToDaemon::Ping => {}
                HostToDaemon::Start { request, .. } => {
                    return self.send(
                        stream,
                        &DaemonToHost::Started { request, id: 9, address, token: TOKEN },
                    );
                }
                other => panic!("a start, not {other:?}"),
            }
        }
    }

    /// Accepts the host like a remote worker, without the handshake over UCX.
    fn attach(&self, max_message: u64) -> Attached {
        let worker = context().build().unwrap().worker().unwrap();
        let address = worker.address().unwrap().as_bytes().to_vec();
        let mut stream = self.let_in(HandoverAddress::default(), address, max_message);
        let reach = loop {
            match self
                .runtime
                .block_on(stream::receive(&mut stream, PeerTimeout::default()))
                .unwrap()
            {
                HostToWorker::Ping => {}
                HostToWorker::Reach(reach) => break reach,
                other => panic!("a Reach, not {other:?}"),
            }
        };
        let slots: Rc<RefCell<Vec<u16>>> = Rc::default();
        let seen = Rc::clone(&slots);
        worker
            .set_am_handler(AM_COMMANDS, move |message| {
                let ucx::AmData::Eager(bytes) = message.data else { panic!("an eager message") };
                let (envelope, bytes) = Envelope::split(bytes).unwrap();
                assert_eq!(envelope, ENVELOPE);
                seen.borrow_mut().extend(frames(bytes).map(|frame| frame.unwrap().0.slot()));
            })
            .unwrap();
        worker.set_am_handler(AM_HANDSHAKE, |_| {}).unwrap();
        // SAFETY: from the library in this process.
        let address = unsafe { WorkerAddress::from_bytes(&reach.ucx_address) }.unwrap();
        let endpoint = worker.endpoint().connect(&address).unwrap();
        Attached { stream, channel: reach.channel, worker, endpoint, slots }
    }

    fn let_in(&self, socket: HandoverAddress, ucx_address: Vec<u8>, max_message: u64) -> TcpStream {
        let mut stream = self.accept(Hello::new(Role::Worker));
        let HostToWorker::Attach(attach) =
            self.runtime.block_on(stream::receive(&mut stream, PeerTimeout::default())).unwrap()
        else {
            panic!("an Attach")
        };
        assert_eq!(attach.token, TOKEN);
        let (channel, plugins) = (ENVELOPE.channel, vec![]);
        let word = WorkerToHost::Attached { socket, ucx_address, channel, max_message, plugins };
        self.send(&mut stream, &word);
        stream
    }
}

struct Attached {
    stream: TcpStream,
    channel: u16,
    worker: ucx::Worker,
    endpoint: Endpoint,
    slots: Rc<RefCell<Vec<u16>>>,
}

impl Attached {
    fn handshake(&self) {
        let channel = self.channel.to_le_bytes();
        self.endpoint.am_send_with(AM_HANDSHAKE, &channel, (), AmFlags::EAGER).detach();
        let _ = self.endpoint.flush().wait();
    }

    fn send(&self, bytes: Vec<u8>) {
        let envelope = Envelope { tag: ENVELOPE.tag, channel: self.channel };
        self.send_raw(bytes_of::message(envelope, &bytes));
    }

    fn send_raw(&self, bytes: Vec<u8>) {
        let _ = self.endpoint.am_send_with(AM_NOTIFICATIONS, &[], bytes, AmFlags::EAGER).wait();
    }

    fn wait_for(&self, count: usize) {
        until("no command comes", || {
            self.worker.progress();
            self.slots.borrow().len() >= count
        });
    }
}

fn frame(slot: u16, status: DocaStatus, payload: Option<&[u8]>) -> Vec<u8> {
    bytes_of::notification(slot, status, payload, &[])
}
