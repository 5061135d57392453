//! A daemon and a worker on a thread of their own: they let one host in and then only keep their
//! streams alive. The worker's UCX is whoever's who asks for it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc;

use tokio::net::{TcpListener, TcpStream};

use urom_wire::control::{
    Attach, DaemonToHost, HostToDaemon, HostToWorker, PluginBuild, PluginEntry, WorkerToHost,
};
use urom_wire::hello::{Hello, Role};
use urom_wire::patience::Patience;
use urom_wire::relay::BACKLOG;
use urom_wire::stream::{greet, receive, send};

/// A daemon with one worker.
pub(super) struct Peer {
    /// Where the daemon is.
    pub(super) address: SocketAddr,
    /// How the host came in.
    pub(super) attach: mpsc::Receiver<Attach>,
}

/// The host's, and of the pass.
pub(super) const TICKET: u128 = 77;

/// The worker's.
const ID: u64 = 9;

/// Starts them. `ucx_address` is where the host finds the worker, which wants to see `channel` in
/// commands.
pub(super) fn start(ucx_address: Vec<u8>, channel: u16, max_message: u64) -> Peer {
    let (came, attach) = mpsc::channel();
    let (ready, address) = mpsc::channel();
    let serve = async move {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let address = listener.local_addr().expect("its number");
        ready.send(address).expect("somebody waits");
        let mut daemon = accept(&listener, Role::Daemon).await;
        let plugins = vec![PluginEntry {
            id: 1,
            build: PluginBuild { version: 1, fingerprint: None },
            name: "fuzzed".to_owned(),
        }];
        let welcome = DaemonToHost::Welcome { plugins, cpus: "0".to_owned(), max_message };
        send(&mut daemon, &welcome).await.expect("the host reads");
        let request = loop {
            match receive(&mut daemon, Patience::default()).await.expect("the host asks") {
                HostToDaemon::Start { request, .. } => break request,
                _ => continue,
            }
        };
        let started = DaemonToHost::Started { request, id: ID, address, ticket: TICKET };
        send(&mut daemon, &started).await.expect("the host reads");
        let mut worker = accept(&listener, Role::Worker).await;
        let Ok(HostToWorker::Attach(attach)) = receive(&mut worker, Patience::default()).await
        else {
            panic!("an Attach")
        };
        let attached =
            WorkerToHost::Attached { ucx_address, channel, max_message, plugins: Vec::new() };
        send(&mut worker, &attached).await.expect("the host reads");
        came.send(attach).expect("somebody waits");
        let daemon = stay::<HostToDaemon, DaemonToHost>(daemon);
        tokio::join!(daemon, stay::<HostToWorker, WorkerToHost>(worker));
    };
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    std::thread::spawn(move || runtime.block_on(serve));
    Peer { address: address.recv().expect("the daemon listens"), attach }
}

async fn accept(listener: &TcpListener, role: Role) -> TcpStream {
    let (mut stream, _) = listener.accept().await.expect("a host");
    greet(&mut stream, Hello::new(role), Role::Host, None, Patience::default())
        .await
        .expect("its hello");
    stream
}

/// Heartbeats, until the process ends.
async fn stay<In, Out>(stream: TcpStream)
where
    In: urom_wire::relay::Message + serde::de::DeserializeOwned,
    Out: urom_wire::relay::Message + serde::Serialize,
{
    let (_outgoing, to_send) = tokio::sync::mpsc::channel::<Out>(BACKLOG);
    let (received, mut incoming) = tokio::sync::mpsc::channel::<In>(BACKLOG);
    let carry =
        urom_wire::relay::run(stream, to_send, &received, Patience::default(), |message: In| {
            message
        });
    tokio::select! {
        _ = carry => {}
        // What the host says does not matter.
        () = async { while incoming.recv().await.is_some() {} } => {}
    }
}
