//! One control stream after its hello: messages out of a queue, messages into a queue, heartbeats in both directions.

use std::io;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::wire::control::{
    DaemonToHost, DaemonToWorker, HEARTBEAT, HostToDaemon, HostToWorker, PATIENCE, WorkerToDaemon,
    WorkerToHost,
};
use crate::wire::stream::{self, StreamError};

/// A message of a control stream.
pub(crate) trait Message {
    /// The heartbeat.
    const PING: Self;
    /// Whether this is it.
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

/// How many messages a peer may leave unread before it is given up.
pub(crate) const BACKLOG: usize = 1024;

/// How long the peer has to read the last message of a stream.
const LINGER: Duration = Duration::from_millis(500);

/// Carries messages until one end is done: `outgoing` to the stream, what comes in to `incoming` as `map` makes it.
///
/// `None` when this side ended it: every sender of `outgoing` is gone and everything was written, or nobody listens to
/// `incoming` any more. The stream is closed in every case.
pub(crate) async fn run<S, In, Out, E>(
    stream: S,
    mut outgoing: mpsc::Receiver<Out>,
    incoming: &mpsc::Sender<E>,
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
            let message: In = match stream::receive(&mut reader).await {
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
            if let Err(error) = send(&mut writer, &next).await {
                return Some(error);
            }
        }
        // The peer may be gone already, which is as good. If it is not, it closes once it has read everything; closing
        // at once, with something of it unread, would make the kernel throw our last words away.
        let _ = writer.shutdown().await;
        tokio::time::sleep(LINGER).await;
        None
    };
    tokio::select! {
        // What the peer said last counts, even when writing to it fails now.
        biased;
        end = read => end,
        // Both halves are one task, and a peer that never pauses would use up the turn that tokio allows it: nothing would
        // be written then, and nobody would notice that the peer does not read.
        end = tokio::task::unconstrained(write) => end,
    }
}

async fn send<Out: Serialize>(
    writer: &mut (impl AsyncWrite + Unpin),
    message: &Out,
) -> Result<(), StreamError> {
    match timeout(PATIENCE, stream::send(writer, message)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => Err(StreamError::Closed),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(StreamError::Silent),
    }
}
