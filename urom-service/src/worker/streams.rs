//! A worker's control streams, from the handshake to their end. Messages become [`ControlEvent`]s.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{Semaphore, mpsc};
use urom_memory::engine::MOST_OF_HOST;
use urom_wire::control::WorkerToDaemon;
use urom_wire::hello::{Hello, Role};
use urom_wire::key::Secret;
use urom_wire::peer_timeout::PeerTimeout;
use urom_wire::relay::{self, BACKLOG};
use urom_wire::stream::handshake;

use super::control_thread::ControlEvent;
use super::messages::LinkKey;
use crate::handshakes::PendingHandshake;

/// Capacity for unread messages to a host; all its memories may end at once.
const OUTBOX_CAPACITY: usize = BACKLOG + 2 * MOST_OF_HOST;

pub(super) async fn daemon_stream(
    mut stream: UnixStream,
    outgoing: mpsc::Receiver<WorkerToDaemon>,
    events: mpsc::Sender<ControlEvent>,
    peer_timeout: PeerTimeout,
) {
    let end =
        match handshake(&mut stream, Hello::new(Role::Worker), Role::Daemon, None, peer_timeout)
            .await
        {
            Ok(_) => {
                relay::run(stream, outgoing, &events, peer_timeout, ControlEvent::Daemon).await
            }
            Err(error) => Some(error),
        };
    let _ = events.send(ControlEvent::DaemonGone(end)).await;
}

pub(super) async fn host_stream(
    link: LinkKey,
    mut stream: TcpStream,
    (peer, mut handshakes): (SocketAddr, PendingHandshake),
    secrets: Vec<Secret>,
    events: mpsc::Sender<ControlEvent>,
    peer_timeout: PeerTimeout,
) {
    let handshake = handshake(
        &mut stream,
        Hello::new(Role::Worker),
        Role::Host,
        &secrets,
        PeerTimeout::default(),
    );
    if let Err(reason) = handshakes.admit(peer, handshake).await {
        let _ = events.send(ControlEvent::Refused(reason)).await;
        return;
    }
    let (outbox, outgoing) = mpsc::channel(OUTBOX_CAPACITY);
    if events.send(ControlEvent::HostCame { link, peer, outbox, handshakes }).await.is_err() {
        return;
    }
    let relayed = relay::run(stream, outgoing, &events, peer_timeout, |message| {
        ControlEvent::Host { link, message, turn: None }
    });
    let end = relayed.await;
    let _ = events.send(ControlEvent::HostGone { link, end }).await;
}

/// Forwards a host's events one at a time, so that a slow table delays only its own host.
pub(super) async fn pass_on(
    mut heard: mpsc::Receiver<ControlEvent>,
    events: mpsc::Sender<ControlEvent>,
) {
    let turns = Arc::new(Semaphore::new(1));
    while let Some(mut event) = heard.recv().await {
        if let ControlEvent::Host { turn, .. } = &mut event {
            *turn = Arc::clone(&turns).acquire_owned().await.ok();
        }
        if events.send(event).await.is_err() {
            return;
        }
    }
}
