//! A control stream for blocking tests: a thread carries it, with heartbeats.

use std::marker::PhantomData;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc as std_mpsc};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use urom_wire::control::HEARTBEAT;
use urom_wire::hello::{Hello, Role};
use urom_wire::key::Secret;
use urom_wire::peer_timeout::PeerTimeout;
use urom_wire::stream::{self, StreamError};

use super::TIMEOUT;

pub(crate) struct Link<In, Out> {
    outgoing: mpsc::UnboundedSender<Out>,
    silent: Arc<AtomicBool>,
    incoming: std_mpsc::Receiver<Result<In, StreamError>>,
    types: PhantomData<(In, Out)>,
}

impl<In, Out> Link<In, Out>
where
    In: DeserializeOwned + Send + 'static,
    Out: Serialize + Send + 'static,
{
    pub(crate) fn open(
        address: SocketAddr,
        hello: Hello,
        expected: Role,
        secret: Option<Secret>,
        ping: fn() -> Out,
    ) -> Result<Self, StreamError> {
        let (outgoing, queue) = mpsc::unbounded_channel();
        let (events, incoming) = std_mpsc::channel();
        let silent = Arc::new(AtomicBool::new(false));
        let is_silent = Arc::clone(&silent);
        let (handshake_done, is_handshake_done) = std_mpsc::channel::<Result<(), StreamError>>();
        std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let connect = async {
                    let mut stream = TcpStream::connect(address).await?;
                    stream::handshake(
                        &mut stream,
                        hello,
                        expected,
                        secret.as_ref(),
                        PeerTimeout::default(),
                    )
                    .await?;
                    Ok::<TcpStream, StreamError>(stream)
                };
                match connect.await {
                    Err(error) => drop(handshake_done.send(Err(error))),
                    Ok(stream) => {
                        let _ = handshake_done.send(Ok(()));
                        carry(stream, queue, events, ping, is_silent).await;
                    }
                }
            });
        });
        is_handshake_done.recv_timeout(TIMEOUT).expect("an answer to the hello")?;
        Ok(Link { outgoing, silent, incoming, types: PhantomData })
    }

    pub(crate) fn send(&self, message: Out) {
        let _ = self.outgoing.send(message);
    }

    pub(crate) fn receive(&self) -> Result<In, StreamError> {
        self.incoming.recv_timeout(TIMEOUT).expect("a message, or the end of the stream")
    }

    pub(crate) fn try_receive(&self) -> Option<Result<In, StreamError>> {
        self.incoming.try_recv().ok()
    }

    /// Waits for the end of the stream; returns the messages before it.
    pub(crate) fn until_closed(&self) -> (Vec<In>, StreamError) {
        let mut before = Vec::new();
        loop {
            match self.receive() {
                Ok(message) => before.push(message),
                Err(error) => return (before, error),
            }
        }
    }

    /// Stops sending, including heartbeats, without closing, like a stopped process.
    pub(crate) fn fall_silent(&self) {
        self.silent.store(true, Ordering::Relaxed);
    }
}

async fn carry<In: DeserializeOwned, Out: Serialize>(
    stream: TcpStream,
    mut queue: mpsc::UnboundedReceiver<Out>,
    events: std_mpsc::Sender<Result<In, StreamError>>,
    ping: fn() -> Out,
    is_silent: Arc<AtomicBool>,
) {
    let (mut reader, mut writer) = stream.into_split();
    let read = async {
        loop {
            let message = stream::receive(&mut reader, PeerTimeout::default()).await;
            let over = message.is_err();
            if events.send(message).is_err() || over {
                break;
            }
        }
    };
    let write = async {
        loop {
            let next =
                match tokio::time::timeout(HEARTBEAT.min(Duration::from_millis(500)), queue.recv())
                    .await
                {
                    Ok(Some(message)) => message,
                    Ok(None) => break,
                    Err(_) => ping(),
                };
            if !is_silent.load(Ordering::Relaxed) && stream::send(&mut writer, &next).await.is_err()
            {
                // The reader reports the reason.
                std::future::pending::<()>().await;
            }
        }
    };
    tokio::select! {
        () = read => {}
        () = write => {}
    }
}
