//! The traits of `#[urom_command]` and `#[urom_notification]`, and of the two sides. The crate that
//! defines a protocol may depend on neither side's runtime. So the generated code is generic over a
//! *side*: `urom-pdk` implements [`PluginSide`], `urom-host` [`HostSide`].

use std::cell::Cell;
use std::future::Future;
use std::os::fd::BorrowedFd;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::connection::ConnectionId;
use crate::describe;
use crate::descriptor::NotificationDesc;
use crate::payload::Payload;
use crate::wire::{self, DecodeError, EncodeError};

/// A plugin's commands and notifications. The macro names the type `Protocol`.
pub trait Protocol: Sized + 'static {
    /// The plugin's name: its file name without `.so`. At most 47 bytes.
    const NAME: &'static str = Self::DESCRIPTION.name;
    /// The value of the plugin's `urom_plugin_get_version`. A host requires exactly this version.
    const VERSION: u64 = Self::DESCRIPTION.version;
    #[doc(hidden)]
    const COMMAND_LEN: usize = Self::DESCRIPTION.commands.len;
    #[doc(hidden)]
    const NOTIFICATION_LEN: usize = Self::DESCRIPTION.notifications.len;
    /// The description of the protocol with all messages, from which a C header is generated.
    const DESCRIPTION: &'static describe::Protocol;

    #[doc(hidden)]
    type Client<H: HostSide>;

    #[doc(hidden)]
    fn client<H: HostSide>(plugin: H::Plugin) -> Self::Client<H>;

    /// Returns the notification for a malformed, failed, panicked or cancelled command.
    ///
    /// All bytes are zero except the tag (0 if it does not fit) and the echoed fields.
    ///
    /// # Errors
    /// [`EncodeError::NoMemory`] when the C heap is exhausted.
    #[doc(hidden)]
    fn refusal(command: &[u8]) -> Result<NotificationDesc, EncodeError> {
        wire::refusal(Self::DESCRIPTION, command)
    }
}

/// One command: a variant of the `#[urom_command]` enum as a separate structure.
pub trait Request {
    /// Its protocol.
    type Protocol: Protocol;
    /// The notification that answers it.
    type Reply: Reply;

    /// Returns the length of the encoded command; `None` when it exceeds a `usize`.
    fn encoded_len(&self) -> Option<usize>;

    /// Writes the command to the start of `out` and returns its length. Unset bytes are zero.
    ///
    /// # Errors
    /// [`EncodeError::TooBig`] when `out` is too short, [`EncodeError::Mismatch`] when a payload
    /// contradicts the fields that describe it. Nothing is written then.
    fn encode(&self, out: &mut [u8]) -> Result<usize, EncodeError>;

    /// Returns the fields that the answer must repeat.
    fn echo(&self) -> <Self::Reply as Reply>::Echo;
}

/// A message between plugins, made by `#[urom_message]`: the enum, or a variant's structure.
pub trait PeerMessage {
    /// The version of the messages, compared by both plugins.
    const VERSION: u64;

    /// Returns the length of the encoded message; `None` when it exceeds a `usize`.
    fn encoded_len(&self) -> Option<usize>;

    /// Writes the message to the start of `out` and returns its length. Padding is zero.
    ///
    /// # Errors
    /// As [`Request::encode`].
    fn encode(&self, out: &mut [u8]) -> Result<usize, EncodeError>;
}

/// The enum of the messages between plugins, for decoding.
pub trait PeerMessages<'a>: PeerMessage + Sized {
    /// Reads a message of any variant.
    ///
    /// # Errors
    /// An unknown tag, or an invalid or truncated field.
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError>;
}

/// One notification: the structure of a `#[urom_notification]` variant, without echoed fields.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a notification, so it cannot answer a command",
    label = "no variant of a `#[urom_notification]` enum",
    note = "name a variant of the protocol's `#[urom_notification]` enum"
)]
pub trait Reply: Sized {
    /// The echoed fields.
    type Echo: Copy + 'static;

    /// Decodes a notification and its echoed fields. Checks the tag, the length, every field, and
    /// that the echoed fields repeat `echo`, if given. Its payloads take over `incoming`'s memory.
    ///
    /// # Errors
    /// The invalid field and the reason; `incoming` is dropped with its memory.
    #[doc(hidden)]
    fn read(
        incoming: impl Incoming,
        echo: Option<&Self::Echo>,
    ) -> Result<(Self, Self::Echo), DecodeError>;

    /// Decodes the answer to a command with the fields `echo`.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    #[doc(hidden)]
    #[inline]
    fn decode(incoming: impl Incoming, echo: &Self::Echo) -> Result<Self, DecodeError> {
        Self::read(incoming, Some(echo)).map(|(reply, _)| reply)
    }

    /// Writes the notification to the start of `buffer`, if given and large enough, else into a new
    /// descriptor. The descriptor's plugin id, token, connection and status stay zero: see
    /// [`NotificationDesc::address_to`].
    ///
    /// # Errors
    /// [`EncodeError::NoMemory`] when the C heap is exhausted, [`EncodeError::Mismatch`] when a
    /// payload contradicts the fields that describe it.
    #[doc(hidden)]
    fn write(self, echo: &Self::Echo, buffer: AnswerBuffer<'_>) -> Result<Answer, EncodeError>;

    /// Writes the notification into a new descriptor.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    #[doc(hidden)]
    fn into_descriptor(self, echo: &Self::Echo) -> Result<NotificationDesc, EncodeError> {
        let desc = self.write(echo, None)?.into_descriptor();
        Ok(desc
            .unwrap_or_else(|| unreachable!("no buffer was given, and nothing was written there")))
    }
}

#[doc(hidden)]
pub type AnswerBuffer<'a> = Option<AnswerBytes<'a>>;

#[doc(hidden)]
#[derive(Debug)]
pub struct AnswerBytes<'a> {
    pub bytes: &'a mut [u8],
    pub written: &'a Cell<usize>,
}

/// Proof that an answer is written now. Only [`serve`](crate::wire::serve) makes it, so a handler
/// cannot take the worker's buffer and keep it.
#[doc(hidden)]
#[derive(Debug)]
pub struct Now(());

impl Now {
    /// # Safety
    /// The result of [`PluginSide::answer_buffer`] for it is not used after the poll of this call.
    #[inline]
    pub unsafe fn new() -> Now {
        Now(())
    }
}

/// Proof that the worker's buffer contains a notification.
#[doc(hidden)]
#[derive(Debug)]
pub struct WrittenInPlace(());

impl WrittenInPlace {
    /// # Safety
    /// A notification was written to the buffer that [`PluginSide::answer_buffer`] returned for this
    /// command, in this poll, and its length is stored there.
    #[inline]
    pub unsafe fn new() -> WrittenInPlace {
        WrittenInPlace(())
    }
}

/// The location of a written notification. Pointer-sized, because every command passes it on.
#[doc(hidden)]
#[derive(Debug)]
pub enum Answer {
    InPlace(WrittenInPlace),
    Descriptor(NotificationDesc),
}

impl Answer {
    pub fn into_descriptor(self) -> Option<NotificationDesc> {
        match self {
            Answer::Descriptor(desc) => Some(desc),
            Answer::InPlace(_) => None,
        }
    }
}

#[doc(hidden)]
pub trait Incoming: Sized {
    fn bytes(&self) -> &[u8];

    /// Returns the memory from byte `from` on as a payload, empty without such bytes.
    fn into_payload(self, from: usize) -> Payload;
}

/// Borrowed bytes. Their payload is a copy on the heap.
impl Incoming for &[u8] {
    #[inline]
    fn bytes(&self) -> &[u8] {
        self
    }

    #[inline]
    fn into_payload(self, from: usize) -> Payload {
        self.get(from..).unwrap_or_default().into()
    }
}

/// The side of a handler that does not name a side. It is never implemented: `#[urom_plugin]`
/// names the side, and without that macro the compiler prints the message below.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`#[urom_plugin]` is missing above the handler of `{Self}`",
    label = "not exported as a plugin",
    note = "write `#[urom_plugin]` above `impl Handler for {Self}`"
)]
pub trait FilledIn {
    type Side: PluginSide;
}

/// How a worker that is about to sleep notices a plugin's new work. A handler's `arm` returns it.
#[derive(Clone, Copy, Debug)]
pub enum Armed<'a> {
    /// The worker polls, down to once a ms while a command is pending, else 20 times a second.
    Polled,
    /// This descriptor becomes readable on new work. The worker also polls the plugin.
    By(BorrowedFd<'a>),
    /// The plugin has work now, so the worker does not sleep.
    Ready,
}

/// Implemented only by `urom-pdk`.
#[doc(hidden)]
pub trait PluginSide: 'static {
    type OpenContext;
    type Context;
    type Error: From<DecodeError> + From<EncodeError>;

    /// Takes the worker's buffer for the answer to this command; only the first call returns it.
    /// `None` when the answer goes into a descriptor.
    fn answer_buffer(cx: &Self::Context, now: Now) -> AnswerBuffer<'_>;
}

/// A protocol for handlers of type `T`. The macro implements it for every generated `Handler`.
#[doc(hidden)]
pub trait Serve<S: PluginSide, T>: Protocol {
    fn open(cx: &S::OpenContext) -> Result<T, S::Error>;

    fn address(handler: &T) -> Result<Vec<u8>, S::Error>;

    /// Lets the handler progress its own work, such as a UCX worker. Returns whether it made
    /// progress. Called on every `progress`, and again while it makes progress, at most eight
    /// times; while answers are ready and no command is pending, on every second `progress`.
    fn progress(handler: &T) -> bool;

    fn host_left(handler: &T, connection: ConnectionId);

    fn arm(handler: &T) -> Armed<'_>;

    fn serve<'a>(
        handler: &'a T,
        cx: &'a S::Context,
        command: &'a [u8],
    ) -> impl Future<Output = Result<Answer, S::Error>> + 'a;
}

/// Implemented only by `urom-host`.
#[doc(hidden)]
pub trait HostSide: Sized + 'static {
    type Plugin: Clone;
    type Worker;
    type Error: std::error::Error + Unpin + 'static;
    type Completion<R: Reply>: Future<Output = Result<R, Self::Error>> + Unpin;
    type Handle;

    /// Encodes `command` into a task of `worker` and submits it. The result does not borrow from
    /// the command. The task fails after `timeout`, by default the worker's setting.
    fn submit<C: Request>(
        plugin: &Self::Plugin,
        worker: &Self::Worker,
        command: &C,
        timeout: Option<Duration>,
    ) -> Result<Self::Completion<C::Reply>, Self::Error>;

    /// Submits with a callback that runs inside the progress call that completes the task.
    fn submit_with<C: Request, F>(
        plugin: &Self::Plugin,
        worker: &Self::Worker,
        command: &C,
        timeout: Option<Duration>,
        callback: F,
    ) -> Result<Self::Handle, Self::Error>
    where
        F: FnOnce(Result<C::Reply, Self::Error>) + 'static;
}

#[doc(hidden)]
pub type Submitted<H, C> =
    Result<<H as HostSide>::Completion<<C as Request>::Reply>, <H as HostSide>::Error>;

/// The future of a task awaited without `submit`: the reply, or the submission's or task's error.
///
/// # Panics
/// When polled after it has resolved.
#[must_use = "dropping a completion discards the reply"]
pub struct Answered<H: HostSide, R: Reply>(Result<H::Completion<R>, Option<H::Error>>);

impl<H: HostSide, R: Reply> Answered<H, R> {
    #[doc(hidden)]
    pub fn new(submitted: Result<H::Completion<R>, H::Error>) -> Self {
        Answered(submitted.map_err(Some))
    }
}

impl<H: HostSide, R: Reply> Future for Answered<H, R> {
    type Output = Result<R, H::Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Ok(completion) => Pin::new(completion).poll(cx),
            Err(error) => Poll::Ready(Err(error.take().expect("polled after it has resolved"))),
        }
    }
}

#[doc(hidden)]
pub type AnsweredBy<H, C> = Answered<H, <C as Request>::Reply>;

#[doc(hidden)]
pub type Awaited<H, C> = Result<<C as Request>::Reply, <H as HostSide>::Error>;

#[doc(hidden)]
#[derive(Debug)]
pub struct Task<'task, H: HostSide, C> {
    plugin: &'task H::Plugin,
    worker: &'task H::Worker,
    pub command: C,
    timeout: Option<Duration>,
}

impl<'task, H: HostSide, C> Task<'task, H, C> {
    pub fn new(plugin: &'task H::Plugin, worker: &'task H::Worker, command: C) -> Self {
        Task { plugin, worker, command, timeout: None }
    }

    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }
}

impl<H: HostSide, C: Request> Task<'_, H, C> {
    pub fn submit(self) -> Result<H::Completion<C::Reply>, H::Error> {
        H::submit(self.plugin, self.worker, &self.command, self.timeout)
    }

    pub fn submit_with<F>(self, callback: F) -> Result<H::Handle, H::Error>
    where
        F: FnOnce(Result<C::Reply, H::Error>) + 'static,
    {
        H::submit_with(self.plugin, self.worker, &self.command, self.timeout, callback)
    }
}
