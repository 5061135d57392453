//! Where connections come in: a listener and its [`UnprovenSet`].
//!
//! When the system has no descriptor left, a connection cannot be accepted and stays in the
//! backlog. Accepting is tried again a little later, and the caller does other work in between.

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::net::sockopt::set_socket_send_buffer_size;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep_until};
use urom_wire::stream::prepare;

use crate::unproven::{UNPROVEN, Unproven, UnprovenSet};

/// How many bytes the kernel keeps for a peer that reads later. It takes twice as many, for what it
/// needs itself.
const SEND_BUFFER: usize = 128 << 10;

const BACKLOG: i32 = 4096;

const PAUSE: Duration = Duration::from_millis(100);

/// Enlarges the backlog to as many connections as may come at once: the standard library's is 128.
/// If this fails, it stays at that.
pub(crate) fn let_wait(listener: impl AsFd) {
    let _ = rustix::net::listen(listener, BACKLOG);
}

#[derive(Debug)]
pub(crate) struct Entrance {
    listener: TcpListener,
    unproven: UnprovenSet,
    closed: Option<Instant>,
}

impl Entrance {
    pub(crate) fn new(listener: TcpListener) -> Entrance {
        let_wait(&listener);
        Entrance { listener, unproven: UnprovenSet::new(UNPROVEN), closed: None }
    }

    /// The next connection, once there is a place for it among those that have proven nothing.
    /// Nothing is lost when this is dropped before it is ready.
    pub(crate) async fn accept(&mut self) -> (TcpStream, SocketAddr, Unproven) {
        loop {
            if let Some(until) = self.closed {
                sleep_until(until).await;
                self.closed = None;
            }
            self.unproven.room().await;
            match self.listener.accept().await {
                Ok((stream, peer)) => {
                    // IPv4 that comes to a socket of IPv6 is shown as what it is.
                    let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
                    prepare(&stream);
                    // Without this the kernel keeps 4 MiB for a peer that reads nothing, until that
                    // is noticed.
                    let _ = set_socket_send_buffer_size(&stream, SEND_BUFFER);
                    return (stream, peer, self.unproven.enter(peer.ip()));
                }
                Err(problem) => {
                    limited!(error, "no host can connect: {problem}");
                    self.closed = Some(Instant::now() + PAUSE);
                }
            }
        }
    }
}
