//! A host's control stream, served by its own task after the handshake.

use std::net::SocketAddr;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use urom_wire::awake::sleep;
use urom_wire::control::{DaemonToHost, HostToDaemon, HostToWorker, WorkerToHost};
use urom_wire::hello::{Hello, Role};
use urom_wire::key::Secret;
use urom_wire::peer_timeout::PeerTimeout;
use urom_wire::relay::{self, BACKLOG, Message};
use urom_wire::stream::{StreamError, handshake, prepare};

const IN_TURN: usize = 4;

/// First and last delay of the reconnects after the service closed the connection.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_millis(800);

pub(super) struct Stream<In, Out> {
    incoming: mpsc::Receiver<In>,
    outgoing: mpsc::Sender<Out>,
    carrier: JoinHandle<Option<StreamError>>,
    pub(super) peer: SocketAddr,
    /// Agreed on in the handshake; 0 without one.
    pub(super) protocol: u16,
}

pub(super) type DaemonStream = Stream<DaemonToHost, HostToDaemon>;

pub(super) type WorkerStream = Stream<WorkerToHost, HostToWorker>;

impl<In, Out> Stream<In, Out>
where
    In: Message + DeserializeOwned + Send + 'static,
    Out: Message + Serialize + Send + Sync + 'static,
{
    /// Connects, performs the handshake and proves the secret. Retries if a busy service closes it.
    pub(super) async fn open(
        address: SocketAddr,
        expected: Role,
        secret: Option<&Secret>,
        peer_timeout: PeerTimeout,
    ) -> Result<Stream<In, Out>, StreamError> {
        let mut pause = FIRST_PAUSE;
        loop {
            match Self::try_open(address, expected, secret, peer_timeout).await {
                Err(StreamError::CutOff(_)) if pause <= LAST_PAUSE => {
                    sleep(pause).await;
                    pause *= 2;
                }
                opened => return opened,
            }
        }
    }

    async fn try_open(
        address: SocketAddr,
        expected: Role,
        secret: Option<&Secret>,
        peer_timeout: PeerTimeout,
    ) -> Result<Stream<In, Out>, StreamError> {
        let mut tcp = TcpStream::connect(address).await?;
        prepare(&tcp);
        let peer = tcp.peer_addr()?;
        let hello = Hello::new(Role::Host);
        let protocol = handshake(&mut tcp, hello, expected, secret, peer_timeout).await?;
        log!(debug, "the {expected} at {peer} speaks protocol {protocol}");
        Ok(Stream { protocol, ..Stream::carry(tcp, peer, peer_timeout) })
    }

    pub(super) fn carry<S>(
        stream: S,
        peer: SocketAddr,
        peer_timeout: PeerTimeout,
    ) -> Stream<In, Out>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (outgoing, to_send) = mpsc::channel(BACKLOG);
        let (received, incoming) = mpsc::channel(BACKLOG);
        let carry = async move {
            relay::run(stream, to_send, &received, peer_timeout, |message: In| message).await
        };
        let carrier = tokio::spawn(carry);
        Stream { incoming, outgoing, carrier, peer, protocol: 0 }
    }

    pub(super) async fn send(&self, message: Out) {
        // Ignores the error, which the next `next` reports.
        let _ = self.outgoing.send(message).await;
    }

    /// Sends after nearly all earlier messages have left, for many long messages.
    pub(super) async fn send_in_turn(&self, message: Out) {
        // Releases the permits at once. Ignores the error, as `send` does.
        drop(self.outgoing.reserve_many(BACKLOG - IN_TURN).await);
        self.send(message).await;
    }

    /// Returns the next message other than a heartbeat. Cancel-safe.
    pub(super) async fn next(&mut self) -> Result<In, StreamError> {
        match self.incoming.recv().await {
            Some(message) => Ok(message),
            None => Err((&mut self.carrier).await.ok().flatten().unwrap_or(StreamError::Closed)),
        }
    }

    /// Ends the stream and waits briefly for the peer.
    pub(super) async fn close(mut self) {
        drop(self.outgoing);
        while self.incoming.recv().await.is_some() {}
        let _ = (&mut self.carrier).await;
    }
}
