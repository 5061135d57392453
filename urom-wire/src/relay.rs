//! Relays a control stream's messages between queues, with heartbeats in both directions.

use std::io;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::control::{
    DaemonToHost, DaemonToWorker, HEARTBEAT, HostToDaemon, HostToWorker, WorkerToDaemon,
    WorkerToHost,
};
use crate::peer_timeout::PeerTimeout;
use crate::stream::{self, StreamError};

pub trait Message {
    const PING: Self;
    fn is_ping(&self) -> bool;
}

macro_rules! messages {
    ($($name:ident),*) => {$(
        impl Message for $name {
            const PING: $name = $name::Ping;
            fn is_ping(&self) -> bool {
                matches!(self, $name::Ping)
            }
        }
    )*};
}

messages!(HostToDaemon, DaemonToHost, HostToWorker, WorkerToHost, DaemonToWorker, WorkerToDaemon);

/// The most messages that a peer may leave unread before it is disconnected.
pub const BACKLOG: usize = 1024;

const QUEUE_LEN: usize = 16;

const LINGER: Duration = Duration::from_millis(500);

/// A short queue, because an event may be a message of a megabyte: while it is full, the streams
/// receive nothing. The receiver must never wait to put an event in.
pub fn events<E>() -> (mpsc::Sender<E>, mpsc::Receiver<E>) {
    mpsc::channel(QUEUE_LEN)
}

/// Relays `outgoing`, and through `map` `incoming`, until one end closes. Closes the stream.
///
/// Returns `None` when this side ended it: all senders of `outgoing` are dropped and everything is
/// written, or the receiver of `incoming` is dropped.
pub async fn run<S, In, Out, E>(
    stream: S,
    mut outgoing: mpsc::Receiver<Out>,
    incoming: &mpsc::Sender<E>,
    peer_timeout: PeerTimeout,
    map: impl Fn(In) -> E,
) -> Option<StreamError>
where
    S: AsyncRead + AsyncWrite + Unpin,
    In: Message + DeserializeOwned,
    Out: Message + Serialize,
{
    let (mut reader, mut writer) = tokio::io::split(stream);
    let read = async {
        loop {
            let message: In = match stream::receive(&mut reader, peer_timeout).await {
                Ok(message) => message,
                Err(error) => return Some(error),
            };
            if !message.is_ping() && incoming.send(map(message)).await.is_err() {
                return None;
            }
        }
    };
    let write = async {
        loop {
            let next = match timeout(HEARTBEAT, outgoing.recv()).await {
                Ok(Some(message)) => message,
                Ok(None) => break,
                Err(_) => Out::PING,
            };
            if let Err(error) = send(&mut writer, &next, peer_timeout).await {
                return Some(error);
            }
        }
        // The peer closes once it has read everything. Closing at once with unread bytes from the
        // peer would make the kernel drop the last written bytes.
        let _ = writer.shutdown().await;
        tokio::time::sleep(LINGER).await;
        None
    };
    tokio::select! {
        // The peer's last message counts, even if writing fails now.
        biased;
        end = read => end,
        // Both halves are one task, and a peer that sends without a pause would use up its tokio
        // budget. Then nothing would be written, and a peer that does not read stays undetected.
        end = tokio::task::unconstrained(write) => end,
    }
}

async fn send<Out: Serialize>(
    writer: &mut (impl AsyncWrite + Unpin),
    message: &Out,
    peer_timeout: PeerTimeout,
) -> Result<(), StreamError> {
    match peer_timeout.wait(stream::send(writer, message)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => Err(StreamError::Closed),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(StreamError::Silent(peer_timeout)),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::duplex;

    use super::*;
    use crate::control::StartWorker;

    /// The two ends of relayed streams after the handshake; events stay in the queue.
    fn relayed() -> (impl AsyncRead + AsyncWrite + Unpin, mpsc::Receiver<HostToDaemon>, impl Sized)
    {
        let (ours, theirs) = duplex(1 << 10);
        let (outbox, outgoing) = mpsc::channel::<DaemonToHost>(BACKLOG);
        let (sender, events) = events();
        let end = async move {
            run(ours, outgoing, &sender, PeerTimeout::default(), |message: HostToDaemon| message)
                .await
        };
        (theirs, events, (outbox, tokio::spawn(end)))
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_waits_at_its_senders_and_not_in_memory() {
        let (mut peer, events, _relay) = relayed();
        let worker =
            StartWorker { id: 1, plugins: 1, gid: 1, env: None, cpus: Some("0".repeat(1 << 19)) };
        let message = HostToDaemon::Start { request: 1, worker };
        let mut sent = 0;
        while timeout(HEARTBEAT, stream::send(&mut peer, &message)).await.is_ok() {
            sent += 1;
            assert!(sent < 50, "nothing holds the peer up");
        }
        assert!(sent >= 16 && !events.is_empty(), "{sent}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_whose_messages_wait_for_a_slot_is_not_silent() {
        let (mut peer, mut events, relay) = relayed();
        let count = 2 * QUEUE_LEN as u64;
        for request in 0..count {
            stream::send(&mut peer, &HostToDaemon::Group { request, gid: 4 }).await.unwrap();
        }
        // It stays silent for much longer than the timeout, and receives heartbeats.
        for _ in 0..3 * crate::control::PEER_TIMEOUT.as_secs() {
            assert!(matches!(
                stream::receive(&mut peer, PeerTimeout::default()).await.unwrap(),
                DaemonToHost::Ping
            ));
        }
        for expected in 0..count {
            let received = events.recv().await.unwrap();
            assert!(matches!(received, HostToDaemon::Group { request, .. } if request == expected));
        }
        drop(relay);
    }
}
