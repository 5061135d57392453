//! What `#[urom_command]` and `#[urom_notification]` implement, and what the two sides offer in
//! return.
//!
//! A protocol is stated once and used from both ends, but the crate that states it may depend on
//! neither end's runtime. So the generated code is generic over a *side*: `urom-pdk` implements
//! [`PluginSide`] and `urom-host` implements [`HostSide`], each once.

use std::cell::Cell;
use std::future::Future;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use crate::describe;
use crate::descriptor::NotificationDesc;
use crate::payload::Payload;
use crate::wire::{self, DecodeError, EncodeError};

/// A plugin's commands and notifications, as one type. The macro names it `Protocol`.
pub trait Protocol: Sized + 'static {
    /// The plugin's name: its file's name without `.so`. At most 47 bytes.
    const NAME: &'static str = Self::DESCRIPTION.name;
    /// What the plugin's `urom_plugin_get_version` returns; a host asks for exactly this.
    const VERSION: u64 = Self::DESCRIPTION.version;
    #[doc(hidden)]
    const COMMAND_LEN: usize = Self::DESCRIPTION.commands.len;
    #[doc(hidden)]
    const NOTIFICATION_LEN: usize = Self::DESCRIPTION.notifications.len;
    /// All of the above and every message, for programs to read: a C header is made of it.
    const DESCRIPTION: &'static describe::Protocol;

    /// The typed host-side client, with one `task_*` method for each command.
    #[doc(hidden)]
    type Client<H: HostSide>;

    /// Wraps what a host side knows of the running plugin into the typed client.
    #[doc(hidden)]
    fn client<H: HostSide>(plugin: H::Plugin) -> Self::Client<H>;

    /// The notification for a command that ends without one of its own: malformed, failed,
    /// panicked, or given up.
    ///
    /// All of it is zero but the tag and the echoed fields that `command` holds. For an unknown tag
    /// it has the same tag, or 0 where that does not fit.
    ///
    /// # Errors
    /// [`EncodeError::NoMemory`] when the C heap has no room.
    #[doc(hidden)]
    fn refusal(command: &[u8]) -> Result<NotificationDesc, EncodeError> {
        wire::refusal(Self::DESCRIPTION, command)
    }
}

/// One command: a variant of the `#[urom_command]` enum as a structure of its own.
pub trait Request {
    /// The protocol it belongs to.
    type Protocol: Protocol;
    /// The notification that answers it.
    type Reply: Reply;

    /// How many bytes [`encode`](Self::encode) writes; `None` when that cannot be counted in a
    /// `usize`.
    fn encoded_len(&self) -> Option<usize>;

    /// Writes the command to the start of `out` and returns how many bytes it took. Bytes nobody
    /// set are zero.
    ///
    /// # Errors
    /// [`EncodeError::TooBig`] when `out` is too short, [`EncodeError::Mismatch`] when a payload
    /// contradicts the fields that describe it; nothing is written then.
    fn encode(&self, out: &mut [u8]) -> Result<usize, EncodeError>;

    /// The fields that the answer must repeat.
    fn echo(&self) -> <Self::Reply as Reply>::Echo;
}

/// A message from one plugin to another, made by `#[urom_message]`: the enum, or a variant as a
/// structure of its own.
pub trait PeerMessage {
    /// The version of the messages, which both plugins compare.
    const VERSION: u64;

    /// How many bytes [`encode`](Self::encode) writes; `None` when that exceeds a `usize`.
    fn encoded_len(&self) -> Option<usize>;

    /// Writes the message to the start of `out` and returns its length. Padding is zero.
    ///
    /// # Errors
    /// As [`Request::encode`].
    fn encode(&self, out: &mut [u8]) -> Result<usize, EncodeError>;
}

/// The enum of the messages between plugins, for reading.
pub trait PeerMessages<'a>: PeerMessage + Sized {
    /// Reads a message of any variant.
    ///
    /// # Errors
    /// An unknown tag, and a field that is wrong or cut.
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError>;
}

/// One notification: a variant of the `#[urom_notification]` enum as a structure of its own,
/// without its echoed fields.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no notification, so it cannot answer a command",
    label = "no variant of a `#[urom_notification]` enum",
    note = "name a variant of the protocol's `#[urom_notification]` enum"
)]
pub trait Reply: Sized {
    /// The echoed fields.
    type Echo: Copy + 'static;

    /// Reads a notification: tag, length, every field, and that the echoed fields repeat `echo`
    /// when there is one. Gives them, too.
    ///
    /// Its payloads take `incoming`'s memory over; a notification without any leaves it alone.
    ///
    /// # Errors
    /// Which field is wrong, and how; `incoming` is dropped with its memory then.
    #[doc(hidden)]
    fn read(
        incoming: impl Incoming,
        echo: Option<&Self::Echo>,
    ) -> Result<(Self, Self::Echo), DecodeError>;

    /// Reads the answer to a command that had the fields `echo`.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    #[doc(hidden)]
    #[inline]
    fn decode(incoming: impl Incoming, echo: &Self::Echo) -> Result<Self, DecodeError> {
        Self::read(incoming, Some(echo)).map(|(reply, _)| reply)
    }

    /// Writes the notification to the start of `place`, if there is one and it fits, else into a
    /// descriptor of its own. The descriptor's plugin id, token, connection and status are left
    /// zero: see [`NotificationDesc::address_to`].
    ///
    /// # Errors
    /// [`EncodeError::NoMemory`] when the C heap has no room, [`EncodeError::Mismatch`] when a
    /// payload contradicts the fields that describe it.
    #[doc(hidden)]
    fn write(self, echo: &Self::Echo, place: AnswerPlace<'_>) -> Result<Answer, EncodeError>;

    /// Writes the notification into a descriptor of its own.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    #[doc(hidden)]
    fn into_descriptor(self, echo: &Self::Echo) -> Result<NotificationDesc, EncodeError> {
        let desc = self.write(echo, None)?.into_descriptor();
        Ok(desc
            .unwrap_or_else(|| unreachable!("no place was given, and nothing was written there")))
    }
}

/// The worker's place for a notification, if there is one.
#[doc(hidden)]
pub type AnswerPlace<'a> = Option<Room<'a>>;

/// Bytes for a notification, and how many of them one takes, for whoever writes it.
#[doc(hidden)]
#[derive(Debug)]
pub struct Room<'a> {
    pub bytes: &'a mut [u8],
    pub written: &'a Cell<usize>,
}

/// Says that an answer is written now: only [`serve`](crate::wire::serve) makes one, so a handler
/// cannot take the worker's place and keep it.
#[doc(hidden)]
#[derive(Debug)]
pub struct Now(());

impl Now {
    /// # Safety
    /// What [`PluginSide::place`] gives for it is not used after the poll that this is called in.
    #[inline]
    pub unsafe fn new() -> Now {
        Now(())
    }
}

/// Says that a notification is in the worker's place.
#[doc(hidden)]
#[derive(Debug)]
pub struct Placed(());

impl Placed {
    /// # Safety
    /// A notification was written to the room that [`PluginSide::place`] gave for this command, in
    /// this poll, and its length is noted there.
    #[inline]
    pub unsafe fn new() -> Placed {
        Placed(())
    }
}

/// Where a notification was written. As small as a pointer: every command passes it on.
#[doc(hidden)]
#[derive(Debug)]
pub enum Answer {
    /// To the place that the worker gave.
    InPlace(Placed),
    /// Into a descriptor of its own.
    Descriptor(NotificationDesc),
}

impl Answer {
    /// The descriptor, if there is one.
    pub fn into_descriptor(self) -> Option<NotificationDesc> {
        match self {
            Answer::Descriptor(desc) => Some(desc),
            Answer::InPlace(_) => None,
        }
    }
}

/// The bytes of a notification that arrived, and the memory they lie in.
#[doc(hidden)]
pub trait Incoming: Sized {
    fn bytes(&self) -> &[u8];

    /// The memory from byte number `from` on, as a payload; one without bytes and memory when there
    /// are none.
    fn into_payload(self, from: usize) -> Payload;
}

/// Bytes of somebody else's: a payload of them is a copy on the heap.
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

/// The side of a handler that names none. Nothing implements it: `#[urom_plugin]` names the side,
/// and where it was forgotten the compiler says so.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`#[urom_plugin]` is missing above the handler of `{Self}`",
    label = "not exported as a plugin",
    note = "write `#[urom_plugin]` above `impl Handler for {Self}`"
)]
pub trait FilledIn {
    type Side: PluginSide;
}

/// How a worker that is about to sleep learns that its plugin has something to do: what a handler's
/// `arm` returns.
#[derive(Clone, Copy, Debug)]
pub enum Armed<'a> {
    /// The worker polls the plugin at a falling rate: down to once a millisecond while a command is
    /// pending, and to 20 times a second otherwise.
    Polled,
    /// This descriptor becomes readable then. The worker polls the plugin as well.
    By(BorrowedFd<'a>),
    /// It has something to do now, so the worker does not sleep.
    Ready,
}

/// What the plugin side gives to generated code; implemented by `urom-pdk` and by nobody else.
#[doc(hidden)]
pub trait PluginSide: 'static {
    type OpenContext;
    type Context;
    type Error: From<DecodeError> + From<EncodeError>;

    /// The place that the worker gave for the answer to this command, which is taken: the first
    /// call alone gives it. `None` where the answer goes into a descriptor.
    fn place(cx: &Self::Context, now: Now) -> AnswerPlace<'_>;
}

/// A protocol that handlers of type `T` can serve. The macro implements it for every `T` that
/// implements the generated `Handler` trait.
#[doc(hidden)]
pub trait Serve<S: PluginSide, T>: Protocol {
    fn open(cx: &S::OpenContext) -> Result<T, S::Error>;

    fn address(handler: &T) -> Result<Vec<u8>, S::Error>;

    /// Lets the handler advance work of its own, such as a UCX worker; returns whether anything
    /// moved. Called on every `progress`, and again while that moves something, eight times at
    /// most; while answers are ready and no command is pending, on every second `progress`.
    fn progress(handler: &T) -> bool;

    /// Tells the handler that a connection is over.
    fn host_left(handler: &T, connection: u64);

    /// Asks the handler what should end the worker's sleep.
    fn arm(handler: &T) -> Armed<'_>;

    fn serve<'a>(
        handler: &'a T,
        cx: &'a S::Context,
        command: &'a [u8],
    ) -> impl Future<Output = Result<Answer, S::Error>> + 'a;
}

/// What the host side gives to generated code; implemented by `urom-host` and by nobody else.
#[doc(hidden)]
pub trait HostSide: Sized + 'static {
    /// A plugin that was found on a service: its id there, and its version.
    type Plugin: Clone;
    type Worker;
    type Error: std::error::Error + 'static;
    /// A task in flight: resolves to the decoded reply.
    type Completion<R: Reply>: Future<Output = Result<R, Self::Error>>;
    /// A hold on a task that a callback waits for.
    type Handle;

    /// Encodes `command` into a task of `worker` and submits it. What it returns borrows nothing of
    /// the command.
    ///
    /// A task that is not answered within `deadline` of its submission fails then; `None` leaves
    /// that to the worker's settings.
    fn submit<C: Request>(
        plugin: &Self::Plugin,
        worker: &Self::Worker,
        command: &C,
        deadline: Option<Duration>,
    ) -> Result<Self::Completion<C::Reply>, Self::Error>;

    /// The same, with a callback that runs inside the progress call that completes the task.
    fn submit_with<C: Request, F>(
        plugin: &Self::Plugin,
        worker: &Self::Worker,
        command: &C,
        deadline: Option<Duration>,
        callback: F,
    ) -> Result<Self::Handle, Self::Error>
    where
        F: FnOnce(Result<C::Reply, Self::Error>) + 'static;
}

/// What submitting the command `C` gives.
#[doc(hidden)]
pub type Submitted<H, C> =
    Result<<H as HostSide>::Completion<<C as Request>::Reply>, <H as HostSide>::Error>;

/// A command that is ready to be submitted: what every generated `*Task` holds.
#[doc(hidden)]
#[derive(Debug)]
pub struct Task<'task, H: HostSide, C> {
    plugin: &'task H::Plugin,
    worker: &'task H::Worker,
    pub command: C,
    deadline: Option<Duration>,
}

impl<'task, H: HostSide, C> Task<'task, H, C> {
    pub fn new(plugin: &'task H::Plugin, worker: &'task H::Worker, command: C) -> Self {
        Task { plugin, worker, command, deadline: None }
    }

    #[must_use]
    pub fn deadline(mut self, limit: Duration) -> Self {
        self.deadline = Some(limit);
        self
    }
}

impl<H: HostSide, C: Request> Task<'_, H, C> {
    pub fn submit(self) -> Result<H::Completion<C::Reply>, H::Error> {
        H::submit(self.plugin, self.worker, &self.command, self.deadline)
    }

    pub fn submit_with<F>(self, callback: F) -> Result<H::Handle, H::Error>
    where
        F: FnOnce(Result<C::Reply, H::Error>) + 'static,
    {
        H::submit_with(self.plugin, self.worker, &self.command, self.deadline, callback)
    }
}
