//! Typed messages between plugins: a version, the message, and data behind it.
//!
//! A message travels as the header of an active message. The header is the version of the messages
//! (`u64`, little-endian) and the encoded message.

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Waker};

use smallvec::SmallVec;
use ucx::{Data, Message, WeakWorker, Worker};
use urom_abi::log::Level;
use urom_abi::protocol::{PeerMessage, PeerMessages};

use super::PeerData;
use crate::guard::catch;
use crate::{DocaError, DomainHandle, Error, OpenContext, OrCode, Result, Tasks, log};

/// The id of active messages with a typed message as header.
pub(super) const MESSAGE: u16 = 0x75;

const VERSION: usize = size_of::<u64>();

/// A header on its way: without an allocation for up to 256 bytes.
type Header = SmallVec<[u8; 256]>;

/// Handles the typed messages of peers.
///
/// Each message is a future of its own, which belongs to no command. It is polled when the message
/// arrives, and then as [`Tasks`] are. An error or a panic ends the message, with a line in the
/// log; the first ones, then each whose number is a power of two. The sender gets an
/// answer only if the handler sends it one.
pub trait Receive: 'static {
    /// The enum of the messages, made by [`urom_message`](crate::urom_message).
    type Message<'a>: PeerMessages<'a>;

    /// Handles a message and its data. An implementation writes the message's type as
    /// `Self::Message<'_>`: rustc takes the lifetime of `Message<'_>` for another one.
    fn receive(
        &self,
        cx: &PeerContext,
        message: Self::Message<'_>,
        data: PeerData,
    ) -> impl Future<Output = Result<()>>;
}

/// Handles the typed messages of peers within UCX's handler: without a future, a copy of the data
/// or an allocation.
pub trait ReceiveNow: 'static {
    /// The enum of the messages, made by [`urom_message`](crate::urom_message).
    type Message<'a>: PeerMessages<'a>;

    /// Handles a message and its data, which arrived at `worker`. An implementation writes the
    /// message's type as `Self::Message<'_>`, as for [`Receive`]. An error goes to the log.
    ///
    /// # Errors
    /// Those of the plugin.
    fn receive_now(
        &self,
        worker: &WeakWorker,
        message: Self::Message<'_>,
        data: Data<'_>,
    ) -> Result<()>;
}

/// The context of each message of a [`Receive`].
#[derive(Clone)]
pub struct PeerContext {
    domains: DomainHandle,
    tasks: Tasks,
}

impl PeerContext {
    pub(super) fn new(cx: &OpenContext) -> PeerContext {
        PeerContext { domains: cx.domains(), tasks: cx.tasks() }
    }

    /// The worker's domain look-ups.
    #[must_use]
    pub fn domains(&self) -> &DomainHandle {
        &self.domains
    }

    /// Starts futures that run beside the messages.
    #[must_use]
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }
}

impl fmt::Debug for PeerContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerContext").finish_non_exhaustive()
    }
}

/// The bytes of a message of up to `most` bytes, with its version: for a message that takes another
/// way than [`Peer`](super::Peer), such as an export.
///
/// # Errors
/// `TOO_BIG` for a longer message, `INVALID_VALUE` for a message that contradicts itself.
pub fn encode<M: PeerMessage>(message: &M, most: usize) -> Result<impl Deref<Target = [u8]>> {
    let len = message.encoded_len().and_then(|len| len.checked_add(VERSION));
    let len = len.filter(|len| *len <= most).ok_or_else(|| {
        let text = format!("a message to a peer exceeds {most} bytes: send its bytes as data");
        Error::new(DocaError::TOO_BIG, text)
    })?;
    let mut header = Header::from_elem(0, len);
    header[..VERSION].copy_from_slice(&M::VERSION.to_le_bytes());
    message.encode(&mut header[VERSION..])?;
    Ok(header)
}

/// Reads the bytes of [`encode`].
///
/// # Errors
/// `UNSUPPORTED_VERSION` for another version, and `INVALID_VALUE` for a malformed message.
pub fn decode<'a, M: PeerMessages<'a>>(header: &'a [u8]) -> Result<M> {
    let cut = || Error::new(DocaError::INVALID_VALUE, "a peer's message lacks a version");
    let (version, message) = header.split_first_chunk().ok_or_else(cut)?;
    let (version, own) = (u64::from_le_bytes(*version), M::VERSION);
    if version != own {
        let text = format!(
            "a peer's message has version {version}, this plugin reads {own}: use one release of \
             the plugin on all workers"
        );
        return Err(Error::new(DocaError::UNSUPPORTED_VERSION, text));
    }
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

/// Begins to handle a message. Only a future that is pending becomes a task.
fn receive<R: Receive>(receiver: &Rc<R>, cx: &PeerContext, message: Message<'_>) -> Result<()> {
    // Refuses what is malformed before anything is copied.
    decode::<R::Message<'_>>(message.header)?;
    let (header, data) = (Header::from_slice(message.header), PeerData::copied(message.data)?);
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
    // A task registers its own waker when it is polled for the first time.
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
