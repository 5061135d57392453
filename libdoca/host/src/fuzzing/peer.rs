//! A daemon and a worker on a thread of their own: they let one host in and then only keep their
//! streams alive. The worker's UCX is whoever's who asks for it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc;

use tokio::net::TcpListener;

use urom_wire::control::{
    Attach, DaemonToHost, HostToDaemon, HostToWorker, PluginBuild, PluginEntry, WorkerToHost,
};
use urom_wire::hello::{Hello, Role};
use urom_wire::patience::Patience;
use urom_wire::relay::Message;
use urom_wire::stream::greet;

use crate::stream::Stream;

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
        daemon.send(DaemonToHost::Welcome { plugins, cpus: "0".to_owned(), max_message }).await;
        let HostToDaemon::Start { request, .. } = daemon.next().await.expect("the host asks")
        else {
            panic!("a start")
        };
        daemon.send(DaemonToHost::Started { request, id: ID, address, ticket: TICKET }).await;
        let mut worker = accept(&listener, Role::Worker).await;
        let Ok(HostToWorker::Attach(attach)) = worker.next().await else { panic!("an Attach") };
        let plugins = Vec::new();
        worker.send(WorkerToHost::Attached { ucx_address, channel, max_message, plugins }).await;
        came.send(attach).expect("somebody waits");
        // Heartbeats, until the process ends. What the host says does not matter.
        tokio::join!(async { while daemon.next().await.is_ok() {} }, async {
            while worker.next().await.is_ok() {}
        });
    };
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    std::thread::spawn(move || runtime.block_on(serve));
    Peer { address: address.recv().expect("the daemon listens"), attach }
}

async fn accept<In, Out>(listener: &TcpListener, role: Role) -> Stream<In, Out>
where
    In: Message + serde::de::DeserializeOwned + Send + 'static,
    Out: Message + serde::Serialize + Send + Sync + 'static,
{
    let (mut tcp, host) = listener.accept().await.expect("a host");
    greet(&mut tcp, Hello::new(role), Role::Host, None, Patience::default())
        .await
        .expect("its hello");
    Stream::carry(tcp, host, Patience::default())
}
