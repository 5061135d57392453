//! A control stream with heartbeats, carried by a thread, for a program whose own thread is busy
//! with being rude.

use std::net::SocketAddr;
use std::sync::mpsc as std_mpsc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use urom_wire::control::HEARTBEAT;
use urom_wire::hello::{Hello, Role};
use urom_wire::patience::Patience;
use urom_wire::stream::{self, StreamError};

/// How long an answer may take on a machine that has other things to do.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) struct Link<In, Out> {
    outgoing: mpsc::UnboundedSender<Out>,
    incoming: std_mpsc::Receiver<Result<In, StreamError>>,
}

impl<In, Out> Link<In, Out>
where
    In: DeserializeOwned + Send + 'static,
    Out: Serialize + Send + 'static,
{
    pub(super) fn open(
        address: SocketAddr,
        expected: Role,
        ping: fn() -> Out,
    ) -> Result<Link<In, Out>> {
        let (outgoing, queue) = mpsc::unbounded_channel();
        let (events, incoming) = std_mpsc::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::spawn(move || {
            runtime.block_on(async {
                match greet(address, expected).await {
                    Ok(stream) => carry(stream, queue, &events, ping).await,
                    // Nobody may listen any more.
                    Err(error) => drop(events.send(Err(error))),
                }
            });
        });
        Ok(Link { outgoing, incoming })
    }

    pub(super) fn send(&self, message: Out) {
        // When the stream is over, what was received last says so.
        let _ = self.outgoing.send(message);
    }

    pub(super) fn receive(&self) -> Result<In> {
        let message = self
            .incoming
            .recv_timeout(PATIENCE)
            .map_err(|_| anyhow!("nothing came for {PATIENCE:?}"))?;
        message.context("a control stream")
    }

    pub(super) fn try_receive(&self) -> Option<Result<In>> {
        self.incoming.try_recv().ok().map(|message| message.context("a control stream"))
    }
}

/// Connects and greets, without a key.
async fn greet(address: SocketAddr, expected: Role) -> Result<TcpStream, StreamError> {
    let mut stream = TcpStream::connect(address).await?;
    stream::greet(&mut stream, Hello::new(Role::Host), expected, None, Patience::default()).await?;
    Ok(stream)
}

async fn carry<In: DeserializeOwned, Out: Serialize>(
    stream: TcpStream,
    mut queue: mpsc::UnboundedReceiver<Out>,
    events: &std_mpsc::Sender<Result<In, StreamError>>,
    ping: fn() -> Out,
) {
    let (mut reader, mut writer) = stream.into_split();
    let read = async {
        loop {
            let message = stream::receive(&mut reader, Patience::default()).await;
            let over = message.is_err();
            if events.send(message).is_err() || over {
                break;
            }
        }
    };
    let write = async {
        loop {
            let message = match tokio::time::timeout(HEARTBEAT, queue.recv()).await {
                Ok(Some(message)) => message,
                Ok(None) => break,
                Err(_) => ping(),
            };
            if stream::send(&mut writer, &message).await.is_err() {
                // The reader says why.
                std::future::pending::<()>().await;
            }
        }
    };
    tokio::select! {
        () = read => {}
        () = write => {}
    }
}
