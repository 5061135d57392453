//! A protocol and a handler that tests control.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Poll, Waker};

use urom_abi::ConnectionId;
use urom_abi::describe;
use urom_abi::descriptor::NotificationDesc;
use urom_abi::protocol::{
    Answer, AnswerBytes, Armed, HostSide, Now, PluginSide, Protocol, Serve, WrittenInPlace,
};
use urom_abi::wire::{DecodeError, DecodeProblem, EncodeError};
use urom_pdk::{Context, DocaError, DomainHandle, Error, OpenContext, Result, Side, Tasks};

/// Makes `open` panic.
pub(crate) const PANIC_IN_OPEN: DocaError = DocaError::from_code(u32::MAX);

#[derive(Default)]
pub(crate) struct Script {
    pub(crate) open: Cell<Option<DocaError>>,
    /// The result of `address`, and its number of calls.
    pub(crate) address: RefCell<Vec<u8>>,
    pub(crate) addressed: Cell<usize>,
    /// The result of `progress`; `progressed` counts its calls.
    pub(crate) moves: Cell<bool>,
    pub(crate) left: RefCell<Vec<u64>>,
    pub(crate) progressed: Cell<usize>,
    pub(crate) progress_panics: Cell<bool>,
    /// `WAIT` commands end when this is set.
    pub(crate) released: Cell<bool>,
    /// The wakers of `WAIT` commands in the order of their first polls.
    pub(crate) wakers: RefCell<Vec<Waker>>,
    pub(crate) polls: Cell<usize>,
    pub(crate) dropped: RefCell<Vec<&'static str>>,
    pub(crate) no_memory: Cell<usize>,
    pub(crate) refusal_panics: Cell<bool>,
    /// The first action of `ACT` and `ACT_AND_WAIT` commands.
    pub(crate) act: RefCell<Option<Act>>,
    /// The action of `ACT_AND_WAIT` futures when they are dropped.
    pub(crate) last: RefCell<Option<Act>>,
    pub(crate) domains: RefCell<Option<DomainHandle>>,
    pub(crate) tasks: RefCell<Option<Tasks>>,
}

pub(crate) type Act = Box<dyn Fn(&Context, &[u8]) -> Result<u64>>;

thread_local! {
    static SCRIPT: RefCell<Rc<Script>> = RefCell::default();
}

pub(crate) fn script() -> Rc<Script> {
    SCRIPT.with(|script| Rc::clone(&script.borrow()))
}

/// A handler, readable in the script when it is dropped.
pub(crate) struct Obedient(Rc<Script>);

impl Drop for Obedient {
    fn drop(&mut self) {
        self.0.dropped.borrow_mut().push("handler");
    }
}

pub(crate) const ECHO: u64 = 0;
pub(crate) const FAIL: u64 = 1;
pub(crate) const PANIC: u64 = 2;
pub(crate) const WAIT: u64 = 3;
pub(crate) const YIELD: u64 = 4;
pub(crate) const PANIC_LATER: u64 = 5;
pub(crate) const PANIC_IN_DROP: u64 = 6;
pub(crate) const DEST: u64 = 7;
pub(crate) const PANIC_AT_ONCE: u64 = 8;
pub(crate) const FAIL_NASTILY: u64 = 9;
pub(crate) const ACT: u64 = 10;
pub(crate) const ACT_AND_WAIT: u64 = 11;
pub(crate) const PANIC_WHEN_READY: u64 = 12;
pub(crate) const CANCELLED: u64 = 13;

pub(crate) fn command(tag: u64, value: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    put(&mut bytes, 0, &tag).expect("there is space");
    put(&mut bytes, 8, &value).expect("there is space");
    bytes
}

pub(crate) fn fields(notification: &NotificationDesc) -> (u64, u64) {
    let bytes = notification.payload();
    assert_eq!(bytes.len(), 16);
    (get(bytes, 0).expect("a tag"), get(bytes, 8).expect("a value"))
}

fn reply(tag: u64, value: u64) -> Result<NotificationDesc, EncodeError> {
    let mut notification =
        NotificationDesc::zeroed(16).map_err(|_| EncodeError::NoMemory { message: "Reply" })?;
    notification.payload_mut().copy_from_slice(&command(tag, value));
    Ok(notification)
}

pub(crate) struct Words;

const WORDS: describe::Messages = describe::Messages {
    name: "Words",
    docs: "",
    tag: <u64 as describe::Described>::TYPE,
    len: 16,
    union_at: 8,
    header: &[],
    variants: &[variant("Fail", FAIL), variant("PanicAtOnce", PANIC_AT_ONCE)],
};

const fn variant(name: &'static str, tag: u64) -> describe::Variant {
    describe::Variant { name, docs: "", tag, also: None, reply: None, fields: &[], payloads: &[] }
}

impl Protocol for Words {
    const NAME: &'static str = "worker_words";
    const VERSION: u64 = 3;
    const COMMAND_LEN: usize = 16;
    const NOTIFICATION_LEN: usize = 16;
    const DESCRIPTION: &'static describe::Protocol = &describe::Protocol {
        name: Self::NAME,
        version: Self::VERSION,
        commands: WORDS,
        notifications: WORDS,
    };
    type Client<H: HostSide> = ();

    fn client<H: HostSide>(_: H::Plugin) {}

    fn refusal(command: &[u8]) -> Result<NotificationDesc, EncodeError> {
        let script = script();
        assert!(!script.refusal_panics.get(), "as the test asks");
        if let Some(left) = script.no_memory.get().checked_sub(1) {
            script.no_memory.set(left);
            return Err(EncodeError::NoMemory { message: "Reply" });
        }
        reply(get(command, 0).unwrap_or(0), 0)
    }
}

impl Serve<Side, Obedient> for Words {
    fn open(cx: &OpenContext) -> Result<Obedient> {
        assert_eq!((cx.plugin_name(), cx.version()), ("worker_words", 3));
        let script = script();
        *script.domains.borrow_mut() = Some(cx.domains());
        *script.tasks.borrow_mut() = Some(cx.tasks());
        match script.open.get() {
            Some(PANIC_IN_OPEN) => panic!("as the test asks"),
            Some(code) => Err(code.into()),
            None => Ok(Obedient(script)),
        }
    }

    fn address(handler: &Obedient) -> Result<Vec<u8>> {
        handler.0.addressed.set(handler.0.addressed.get() + 1);
        Ok(handler.0.address.borrow().clone())
    }

    fn progress(handler: &Obedient) -> bool {
        handler.0.progressed.set(handler.0.progressed.get() + 1);
        assert!(!handler.0.progress_panics.get(), "as the test asks");
        handler.0.moves.get()
    }

    fn host_left(handler: &Obedient, connection: ConnectionId) {
        handler.0.left.borrow_mut().push(connection.into());
    }

    fn arm(handler: &Obedient) -> Armed<'_> {
        assert!(!handler.0.progress_panics.get(), "as the test asks");
        if handler.0.moves.get() { Armed::Ready } else { Armed::Polled }
    }

    #[allow(clippy::manual_async_fn, reason = "this is how the macro writes it")]
    fn serve<'a>(
        handler: &'a Obedient,
        cx: &'a Context,
        command: &'a [u8],
    ) -> impl Future<Output = Result<Answer>> + 'a {
        if get::<u64>(command, 0) == Some(PANIC_AT_ONCE) {
            panic!("before there is a future");
        }
        let future = async move {
            let (tag, value) = decode(command)?;
            let value = handler.run(cx, command, tag, value).await?;
            let desc = reply(tag, value)?;
            let bytes = desc.payload();
            // SAFETY: `Now` is only used here: the buffer is written below and then dropped.
            let now = unsafe { Now::new() };
            if let Some(AnswerBytes { bytes: buffer, written }) = Side::answer_buffer(cx, now)
                && let Some(buffer) = buffer.get_mut(..bytes.len())
            {
                buffer.copy_from_slice(bytes);
                written.set(bytes.len());
                // SAFETY: the answer was written to the buffer.
                return Ok(Answer::InPlace(unsafe { WrittenInPlace::new() }));
            }
            Ok(Answer::Descriptor(desc))
        };
        Brittle { future, breaks: get(command, 0) == Some(PANIC_WHEN_READY), is_ready: false }
    }
}

/// A future that may panic when it is dropped after it was ready.
struct Brittle<F> {
    future: F,
    breaks: bool,
    is_ready: bool,
}

impl<F: Future> Future for Brittle<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<F::Output> {
        // SAFETY: `this` is not moved out of.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: `future` is structurally pinned.
        let polled = unsafe { Pin::new_unchecked(&mut this.future) }.poll(cx);
        this.is_ready = polled.is_ready();
        polled
    }
}

impl<F> Drop for Brittle<F> {
    fn drop(&mut self) {
        assert!(!(self.breaks && self.is_ready), "as the test asks");
    }
}

fn decode(command: &[u8]) -> Result<(u64, u64), DecodeError> {
    match (get(command, 0), get(command, 8)) {
        (Some(tag), Some(value)) if command.len() == 16 && tag <= CANCELLED => Ok((tag, value)),
        _ => {
            let problem = DecodeProblem::TooShort { found: command.len(), least: 16 };
            Err(DecodeError { message: "Command", field: "length", problem })
        }
    }
}

impl Obedient {
    async fn run(&self, cx: &Context, command: &[u8], tag: u64, value: u64) -> Result<u64> {
        match tag {
            FAIL => return Err(Error::new(DocaError::from_code(value as u32), "as the test asks")),
            FAIL_NASTILY => return Err(Error::from(DocaError::DRIVER).with_source(Nasty)),
            PANIC => panic!("as the test asks"),
            WAIT => self.wait(command).await,
            CANCELLED => return Ok(cx.cancelled().await as u64),
            YIELD | PANIC_WHEN_READY => turns(value).await,
            PANIC_LATER => {
                turns(1).await;
                panic!("as the test asks");
            }
            PANIC_IN_DROP => {
                let _mine = OnDrop(|| panic!("as the test asks"));
                turns(u64::MAX).await;
            }
            ACT => return self.act(cx, command),
            ACT_AND_WAIT => {
                self.act(cx, command)?;
                let _last = OnDrop(|| {
                    if let Some(last) = &*self.0.last.borrow() {
                        last(cx, command).expect("the last act");
                    }
                });
                self.wait(command).await;
            }
            DEST => return Ok(u64::from(cx.connection()) << 8 | cx.plugin_id()),
            _ => {}
        }
        Ok(value)
    }

    fn act(&self, cx: &Context, command: &[u8]) -> Result<u64> {
        let act = self.0.act.borrow();
        act.as_ref().expect("the test says what to do")(cx, command)
    }

    /// Waits until the test releases it; reads the command's bytes when it is dropped.
    async fn wait(&self, command: &[u8]) {
        let _noted = OnDrop(|| {
            let tag = get(command, 0);
            assert!([Some(WAIT), Some(ACT_AND_WAIT)].contains(&tag), "the command outlives this");
            self.0.dropped.borrow_mut().push("future");
        });
        let mut first = true;
        poll_fn(|cx| {
            self.0.polls.set(self.0.polls.get() + 1);
            if std::mem::take(&mut first) {
                self.0.wakers.borrow_mut().push(cx.waker().clone());
            }
            if self.0.released.get() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// An error that panics when it is formatted or dropped.
#[derive(Debug)]
struct Nasty;

impl std::fmt::Display for Nasty {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic!("as the test asks");
    }
}

impl std::error::Error for Nasty {}

impl Drop for Nasty {
    fn drop(&mut self) {
        panic!("as the test asks");
    }
}

async fn turns(mut n: u64) {
    poll_fn(|cx| {
        if n == 0 {
            return Poll::Ready(());
        }
        n -= 1;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

fn get<T: urom_abi::bytemuck::AnyBitPattern>(bytes: &[u8], offset: usize) -> Option<T> {
    let end = offset.checked_add(size_of::<T>())?;
    bytes.get(offset..end).map(urom_abi::bytemuck::pod_read_unaligned)
}

fn put<T: urom_abi::bytemuck::NoUninit>(bytes: &mut [u8], offset: usize, value: &T) -> Option<()> {
    let end = offset.checked_add(size_of::<T>())?;
    bytes.get_mut(offset..end)?.copy_from_slice(urom_abi::bytemuck::bytes_of(value));
    Some(())
}
