//! Accepts connections: a listener and its [`Handshakes`]. Without a free descriptor, a connection
//! stays in the backlog, and accepting is retried after 100 ms.

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::net::sockopt::set_socket_send_buffer_size;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep_until};
use urom_wire::stream::prepare;

use crate::handshakes::{Handshakes, MAX_HANDSHAKES, PendingHandshake};

/// Send buffer in bytes for a peer that reads late. The kernel doubles it for its overhead.
const SEND_BUFFER: usize = 128 << 10;

const BACKLOG: i32 = 4096;

const PAUSE: Duration = Duration::from_millis(100);

/// Enlarges the backlog from the standard library's 128. On failure it stays at 128.
pub(crate) fn let_wait(listener: impl AsFd) {
    let _ = rustix::net::listen(listener, BACKLOG);
}

#[derive(Debug)]
pub(crate) struct Entrance {
    listener: TcpListener,
    handshakes: Handshakes,
    closed: Option<Instant>,
}

impl Entrance {
    pub(crate) fn new(listener: TcpListener) -> Entrance {
        let_wait(&listener);
        Entrance { listener, handshakes: Handshakes::new(MAX_HANDSHAKES), closed: None }
    }

    /// Returns the next connection once the set of handshakes has a free slot. Cancel-safe.
    pub(crate) async fn accept(&mut self) -> (TcpStream, SocketAddr, PendingHandshake) {
        loop {
            if let Some(until) = self.closed {
                sleep_until(until).await;
                self.closed = None;
            }
            self.handshakes.free_slot().await;
            match self.listener.accept().await {
                Ok((stream, peer)) => {
                    // Shows an IPv4-mapped IPv6 address as IPv4.
                    let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
                    prepare(&stream);
                    // By default, the kernel keeps up to 4 MiB for a peer that stopped reading.
                    let _ = set_socket_send_buffer_size(&stream, SEND_BUFFER);
                    return (stream, peer, self.handshakes.enter(peer.ip()));
                }
                Err(problem) => {
                    limited!(error, "no host can connect: {problem}");
                    self.closed = Some(Instant::now() + PAUSE);
                }
            }
        }
    }
}
