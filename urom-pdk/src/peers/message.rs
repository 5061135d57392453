//! Typed messages between plugins. The header of an active message contains a version (`u64`,
//! little-endian) and the encoded message. The data follow.

use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Waker};

use smallvec::SmallVec;
use ucx::{AmData, Message, WeakWorker, Worker};
use urom_abi::log::Level;
use urom_abi::protocol::{PeerMessage, PeerMessages};

use super::PeerData;
use crate::guard::catch;
use crate::{
    DocaError, DomainHandle, Error, OpenContext, OrCode, Result, Tasks, bail, ensure, log,
};

/// The active-message id of typed messages.
pub(super) const MESSAGE: u16 = 0x75;

const VERSION: usize = size_of::<u64>();

/// Does not allocate for up to 256 bytes.
type HeaderBytes = SmallVec<[u8; 256]>;

/// Handles the typed messages of peers. Each message is a future without a command, polled when the
/// message arrives, then like [`Tasks`]. An error or a panic ends it and is logged: the first ones,
/// then each power of two. The sender only gets answers that the handler sends.
pub trait Receive: 'static {
    /// The enum of the messages, made by [`urom_message`](crate::urom_message).
    type Message<'a>: PeerMessages<'a>;

    /// Handles a message. Write its type as `Self::Message<'_>`: rustc misreads `Message<'_>`.
    fn receive(
        &self,
        cx: &PeerContext,
        message: Self::Message<'_>,
        data: PeerData,
    ) -> impl Future<Output = Result<()>>;
}

/// Handles the typed messages of peers inside UCX's handler: without a future, copy or allocation.
pub trait ReceiveNow: 'static {
    /// The enum of the messages, made by [`urom_message`](crate::urom_message).
    type Message<'a>: PeerMessages<'a>;

    /// Handles a message that arrived at `worker`. Write its type as `Self::Message<'_>`.
    /// # Errors
    /// Those of the plugin.
    fn receive_now(
        &self,
        worker: &WeakWorker,
        message: Self::Message<'_>,
        data: AmData<'_>,
    ) -> Result<()>;
}

/// The context of a message of a [`Receive`].
#[derive(Clone, Debug)]
pub struct PeerContext {
    domains: DomainHandle,
    tasks: Tasks,
}

impl PeerContext {
    pub(super) fn new(cx: &OpenContext) -> PeerContext {
        PeerContext { domains: cx.domains(), tasks: cx.tasks() }
    }

    /// Returns the worker's domain look-ups.
    #[must_use]
    pub fn domains(&self) -> &DomainHandle {
        &self.domains
    }

    /// Returns the handle that starts futures beside the messages.
    #[must_use]
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }
}

/// Encodes a message of up to `most` bytes with its version, for other transports.
///
/// # Errors
/// `TOO_BIG` for a longer message, `INVALID_VALUE` for an inconsistent message.
pub fn encode<M: PeerMessage>(message: &M, most: usize) -> Result<impl Deref<Target = [u8]>> {
    let len = message.encoded_len().and_then(|len| len.checked_add(VERSION));
    let Some(len) = len.filter(|len| *len <= most) else {
        bail!(
            DocaError::TOO_BIG,
            "a message to a peer exceeds {most} bytes: send its bytes as data"
        );
    };
    let mut header = HeaderBytes::from_elem(0, len);
    header[..VERSION].copy_from_slice(&M::VERSION.to_le_bytes());
    message.encode(&mut header[VERSION..])?;
    Ok(header)
}

/// Decodes the bytes of [`encode`].
///
/// # Errors
/// `UNSUPPORTED_VERSION` for another version, `INVALID_VALUE` for a malformed message.
pub fn decode<'a, M: PeerMessages<'a>>(header: &'a [u8]) -> Result<M> {
    let Some((version, message)) = header.split_first_chunk() else {
        bail!(DocaError::INVALID_VALUE, "a peer's message lacks a version");
    };
    let (version, own) = (u64::from_le_bytes(*version), M::VERSION);
    ensure!(
        version == own,
        DocaError::UNSUPPORTED_VERSION,
        "a peer's message has version {version}, this plugin reads {own}: use one release of the \
         plugin on all workers"
    );
    M::decode(message).or_code(DocaError::INVALID_VALUE, "reading a peer's message")
}

pub(super) fn listen<R: Receive>(
    worker: &Worker,
    receiver: &Rc<R>,
    cx: &PeerContext,
) -> ucx::Result<()> {
    let (receiver, cx) = (Rc::clone(receiver), cx.clone());
    handle(worker, move |message| receive(&receiver, &cx, message))
}

pub(super) fn listen_now<R: ReceiveNow>(worker: &Worker, receiver: &Rc<R>) -> ucx::Result<()> {
    let (receiver, ucx) = (Rc::clone(receiver), worker.downgrade());
    handle(worker, move |message| receiver.receive_now(&ucx, decode(message.header)?, message.data))
}

fn handle(
    worker: &Worker,
    receive: impl Fn(Message<'_>) -> Result<()> + 'static,
) -> ucx::Result<()> {
    worker.set_am_handler(MESSAGE, move |message: Message<'_>| {
        if let Err(error) = receive(message) {
            refused(&error);
        }
    })
}

/// Begins to handle a message. Only a pending future becomes a task.
fn receive<R: Receive>(receiver: &Rc<R>, cx: &PeerContext, message: Message<'_>) -> Result<()> {
    // Refuses malformed messages before a copy.
    decode::<R::Message<'_>>(message.header)?;
    let (header, data) = (HeaderBytes::from_slice(message.header), PeerData::copied(message.data)?);
    let (receiver, context) = (Rc::clone(receiver), cx.clone());
    let mut handled: Pin<Box<dyn Future<Output = ()>>> = Box::pin(async move {
        let handled = match decode(&header) {
            Ok(message) => receiver.receive(&context, message, data).await,
            Err(error) => Err(error),
        };
        if let Err(error) = handled {
            refused(&error);
        }
    });
    // A task registers its own waker in its first poll.
    let poll = || handled.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending();
    if catch("a message of a peer", poll) == Some(true) {
        cx.tasks.spawn(handled);
    }
    Ok(())
}

#[cold]
fn refused(error: &Error) {
    let text = format_args!("a message of a peer failed: {error}");
    crate::limited!(log::failure(Level::Warning, None, text));
}
