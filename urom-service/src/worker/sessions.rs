//! The control streams of a worker: greeted, then carried until they end. What comes in is an [`Event`].

use std::net::SocketAddr;

use tokio::net::{TcpStream, UnixStream};
use tokio::sync::mpsc;
use tracing::{info, warn};

use super::control::Event;
use super::messages::LinkKey;
use crate::session::{self, BACKLOG};
use crate::wire::control::WorkerToDaemon;
use crate::wire::hello::{Hello, HelloError, Role};
use crate::wire::stream::{StreamError, greet};

/// The stream to the daemon.
pub(super) async fn daemon_session(
    mut stream: UnixStream,
    outgoing: mpsc::Receiver<WorkerToDaemon>,
    events: mpsc::Sender<Event>,
) {
    let end = match greet(&mut stream, Hello::new(Role::Worker), Role::Daemon).await {
        Ok(()) => session::run(stream, outgoing, &events, Event::Daemon).await,
        Err(error) => Some(error),
    };
    // Nobody listens when the worker ends.
    let _ = events.send(Event::DaemonGone(end)).await;
}

/// The stream of a host.
pub(super) async fn host_session(
    link: LinkKey,
    mut stream: TcpStream,
    peer: SocketAddr,
    events: mpsc::Sender<Event>,
) {
    // A message is small and wants to go at once; failing to say so costs time only.
    let _ = stream.set_nodelay(true);
    match greet(&mut stream, Hello::new(Role::Worker), Role::Host).await {
        Ok(()) => {}
        Err(StreamError::Hello(HelloError::NotUrom) | StreamError::Silent) => {
            return info!("{peer} is not a host: it did not greet");
        }
        Err(error) => return warn!("host {peer} was turned away: {error}"),
    }
    let (outbox, outgoing) = mpsc::channel(BACKLOG);
    if events.send(Event::HostCame { link, peer, outbox }).await.is_err() {
        return;
    }
    let end = session::run(stream, outgoing, &events, |message| Event::Host { link, message }).await;
    // Nobody listens when the worker ends.
    let _ = events.send(Event::HostGone { link, end }).await;
}
