//! Accepts one host and carries its stream; `dispatch` handles its messages.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tracing::{debug, warn};
use urom_abi::{DocaError, Quantity};
use urom_wire::awake::timeout;
use urom_wire::control::{DaemonToHost, Failure};
use urom_wire::hello::{Hello, Role};
use urom_wire::peer_timeout::PeerTimeout;
use urom_wire::relay::{self, BACKLOG};
use urom_wire::stream::{self, StreamError, handshake};

use super::config::DaemonConfig;
use super::event::{DaemonEvent, HostLink};
use super::keys::HostSecrets;
use super::operations::Draining;
use super::registry::HostKey;
use super::search::PluginSearch;
use super::snapshot::Refusals;
use crate::handshakes::PendingHandshake;

/// How long a host waits for the plugin list. The host disconnects after
/// [`PEER_TIMEOUT`](urom_wire::control::PEER_TIMEOUT) of silence.
const SEARCH: Duration = Duration::from_secs(3);

const SEARCHING: &str = "the daemon still looks for plugins, which takes long; try again: its log names the entries of \
    the plugin path and the files that it waits for";

#[derive(Debug)]
pub(crate) struct Reception {
    pub(crate) config: Arc<DaemonConfig>,
    pub(crate) search: PluginSearch,
    pub(crate) secrets: HostSecrets,
    pub(crate) slots: Arc<Semaphore>,
    pub(crate) refusals: Refusals,
    pub(crate) draining: Draining,
}

pub(crate) async fn serve(
    key: HostKey,
    mut stream: TcpStream,
    (peer, mut handshakes): (SocketAddr, PendingHandshake),
    reception: Arc<Reception>,
    events: mpsc::Sender<DaemonEvent>,
) {
    let secrets = reception.secrets.get();
    let handshake = handshake(
        &mut stream,
        Hello::new(Role::Daemon),
        Role::Host,
        &secrets,
        PeerTimeout::default(),
    );
    let protocol = match handshakes.admit(peer, handshake).await {
        Ok(protocol) => protocol,
        Err(reason) => return reception.refusals.count(reason),
    };
    drop(handshakes);
    if reception.draining.get() {
        return reception.turn_away(stream, peer, ("draining", Draining::failure())).await;
    }
    let Ok(_slot) = Arc::clone(&reception.slots).try_acquire_owned() else {
        let text = format!(
            "the daemon has {} already, which is its limit: end one, or start uromd with a larger --max-hosts",
            Quantity(reception.config.args.limits.hosts, "host")
        );
        let failure = Failure::new(DocaError::FULL, text);
        return reception.turn_away(stream, peer, ("full", failure)).await;
    };
    let looked = tokio::select! {
        looked = timeout(SEARCH, reception.search.look()) => looked,
        () = closed(&stream) => return debug!("host {peer} disconnected before it was welcomed"),
    };
    let plugins = match looked {
        Ok(Some(plugins)) => plugins,
        Ok(None) => {
            reception.refusals.count("plugins");
            return warn!("refused host {peer}: looking for plugins panicked; please report it");
        }
        Err(_) => match reception.search.latest() {
            // A slow examination must not keep known plugins from the host.
            Some(plugins) => plugins,
            None => {
                let failure = Failure::new(DocaError::TIME_OUT, SEARCHING);
                return reception.turn_away(stream, peer, ("plugins", failure)).await;
            }
        },
    };
    let found = Quantity(plugins.len(), "plugin");
    debug!("host {peer} connected with protocol {protocol}, and gets {found}");
    let (outbox, outgoing) = mpsc::channel(BACKLOG);
    let welcome = DaemonToHost::Welcome {
        plugins: plugins.iter().map(|found| found.entry.clone()).collect(),
        cpus: reception.config.cpus.to_string(),
        max_message: reception.config.args.max_message as u64,
    };
    let _ = outbox.try_send(welcome);
    let (cancel, cancelled) = oneshot::channel();
    let host = HostLink { outbox, cancel, plugins, peer };
    if events.send(DaemonEvent::HostCame { key, host }).await.is_err() {
        return;
    }
    let relayed = relay::run(stream, outgoing, &events, reception.config.peer_timeout, |message| {
        DaemonEvent::Host { key, message }
    });
    let end = tokio::select! {
        end = relayed => end,
        // The daemon has already logged that the host does not read.
        Ok(()) = cancelled => None,
    };
    match end {
        None | Some(StreamError::Closed) => debug!("host {peer} disconnected"),
        Some(error) => {
            limited!(warn, "lost the connection to host {peer}: {error}");
        }
    }
    let _ = events.send(DaemonEvent::HostGone { key }).await;
}

/// Waits until a host closes its end; for ever once it has sent data.
async fn closed(stream: &TcpStream) {
    if let Ok(1..) = stream.peek(&mut [0]).await {
        std::future::pending().await
    }
}

impl Reception {
    async fn turn_away(
        &self,
        mut stream: TcpStream,
        peer: SocketAddr,
        (reason, failure): (&'static str, Failure),
    ) {
        self.refusals.count(reason);
        limited!(warn, "refused host {peer}: {failure}");
        let _ = PeerTimeout::default()
            .wait(stream::send(&mut stream, &DaemonToHost::Refused(failure)))
            .await;
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_host_that_leaves_before_it_is_welcomed_is_noticed() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = || async {
            let theirs = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            (theirs, listener.accept().await.unwrap().0)
        };
        let (theirs, ours) = host().await;
        drop(theirs);
        closed(&ours).await;
        let (mut theirs, ours) = host().await;
        theirs.write_all(b"x").await.unwrap();
        let there = timeout(Duration::from_millis(50), closed(&ours)).await;
        assert!(there.is_err(), "it has only spoken early");
    }
}
