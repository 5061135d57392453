//! The result of a task: its answer or a self-explanatory error.

use std::time::Duration;

use urom_abi::host::CtxState;
use urom_abi::protocol::{Incoming, Protocol, Reply, Request};
use urom_abi::wire::{DecodeError, EncodeError};
use urom_abi::{DocaError, DocaStatus, Quantity};

use crate::context::ObjectKind;
use crate::error::{Error, ErrorKind, Result, inherited};
use crate::plugin::Plugin;
use crate::task::{Arrived, Response};
use crate::worker::{Context, RawReply, Slot, TaskEnd};

/// ``Loopback on worker 3, plugin `worker_graph`,``
pub(super) fn what(context: &Context, plugin: &str, command: &str) -> String {
    format!("{command} on {}, plugin `{plugin}`,", context.name())
}

/// The sent command: plugin name and type path, resolved only for an error or a log line.
#[derive(Clone, Copy)]
pub(super) struct Sent(fn() -> (&'static str, &'static str));

impl Sent {
    pub(super) fn by<C: Request>() -> Sent {
        Sent(|| (<C::Protocol as Protocol>::NAME, std::any::type_name::<C>()))
    }

    pub(super) fn plugin(self) -> &'static str {
        (self.0)().0
    }

    pub(super) fn command(self) -> &'static str {
        let path = (self.0)().1;
        let path = path.split('<').next().unwrap_or(path);
        path.rsplit("::").next().unwrap_or(path)
    }

    pub(super) fn on(self, context: &Context) -> String {
        what(context, self.plugin(), self.command())
    }
}

impl TaskEnd {
    pub(crate) fn code(self) -> DocaError {
        match self {
            TaskEnd::TimedOut(_) => DocaError::TIME_OUT,
            TaskEnd::Cancelled => DocaError::SKIPPED,
            TaskEnd::Inherited(_) => DocaError::BAD_STATE,
        }
    }
}

#[cold]
fn ended(what: String, end: TaskEnd) -> Error {
    match end {
        TaskEnd::TimedOut(limit) => {
            Error::timed_out(what, Duration::from_nanos(limit), "the worker's state")
        }
        TaskEnd::Cancelled => Error::cancelled(what),
        TaskEnd::Inherited(why) => inherited(what, why),
    }
}

#[cold]
pub(super) fn foreign(context: &Context, plugin: &Plugin) -> Error {
    let error = Error::new(DocaError::INVALID_VALUE, what(context, plugin.name(), "command"));
    let names: Vec<_> = context.settings.plugins.iter().map(Plugin::name).collect();
    match plugin.service() == context.serial {
        true => error
            .why(format!("the worker was started with {}, without this plugin", names.join(", ")))
            .hint("name it with WorkerBuilder::plugin"),
        false => error
            .why("the plugin was found on another service, and ids of one mean nothing to another")
            .hint("look the plugin up on this worker's service"),
    }
}

pub(super) const SEND_LESS: &str =
    "send less, or raise ServiceBuilder::max_message_size, and --max-msg-size of a uromd";

#[cold]
pub(super) fn refused(context: &Context, plugin: &str, code: DocaError) -> Error {
    let error = Error::new(code, what(context, plugin, "allocating a task for a command"));
    match (code, context.failure()) {
        (DocaError::NO_MEMORY, _) => {
            let tasks = context.settings.max_inflight as usize;
            let all = format!("no task is free: {} allocated", Quantity(tasks, "task"));
            match (context.held.get(), context.cancelled().waiting) {
                (0, 0) => error.why(all).hint(
                    "wait for one to complete, or allow more with \
                        WorkerBuilder::max_inflight",
                ),
                (0, late) => error
                    .why(format!(
                        "{all}, {late} of them for cancelled commands and that the \
                         worker has not answered yet"
                    ))
                    .hint(
                        "wait for their answers, restart the worker, or allow more with \
                        WorkerBuilder::max_inflight",
                    ),
                (held, _) => error
                    .why(format!("{all}, {held} of them by replies whose payloads are still held"))
                    .hint("drop payloads of earlier replies, or copy them with to_vec"),
            }
        }
        (DocaError::BAD_STATE, why) if why.is_empty() => {
            error.why("the worker does not run").hint("start a new worker")
        }
        // The library's reason ends with a hint.
        (_, why) => error.why(why),
    }
}

#[cold]
pub(super) fn rejected(context: &Context, what: String, code: DocaError) -> Error {
    let (failure, error) = (context.failure(), Error::new(code, what));
    match code {
        _ if !failure.is_empty() => error.why(failure),
        // The library noticed the loss while sending; the next progress gives more detail.
        DocaError::CONNECTION_RESET => error
            .why("the connection to it broke as the command was sent")
            .hint("start a new worker"),
        DocaError::TOO_BIG => error.hint(SEND_LESS),
        DocaError::BAD_STATE => error.hint("start a new worker"),
        _ => error,
    }
}

#[cold]
pub(super) fn unencodable(what: String, error: EncodeError) -> Error {
    let failed = Error::new(error.into(), what).caused_by(error);
    if let EncodeError::TooBig { .. } = error { failed.hint(SEND_LESS) } else { failed }
}

/// Takes the reply of a slot's task, and returns the task.
#[inline(always)]
pub(super) fn finish<R: Reply>(
    context: &Context,
    sent: Sent,
    slot: &Slot,
    echo: &R::Echo,
) -> Result<R> {
    match Arrived::of(context, slot) {
        Some(arrived) => read(context, sent, echo, &arrived),
        None => finish_otherwise(context, sent, slot, echo),
    }
}

#[inline(never)]
fn finish_otherwise<R: Reply>(
    context: &Context,
    sent: Sent,
    slot: &Slot,
    echo: &R::Echo,
) -> Result<R> {
    let refused = |code, bytes: &[u8], why: String| {
        let error =
            Error::new(code, sent.on(context)).with_kind(ErrorKind::Plugin).with_reply(bytes);
        Err(match why.is_empty() {
            // Services other than this kit's do not pass on a reason.
            true => error
                .why("the plugin answered with this status")
                .hint("its reason is in the worker's log"),
            false => error.why(why),
        })
    };
    match context.take(slot) {
        Response::Arrived(status, arrived) => match status.check() {
            Ok(()) => read(context, sent, echo, &arrived),
            Err(code) => refused(code, (&arrived).bytes(), arrived.why(status)),
        },
        Response::Held(RawReply { status, bytes: Some(bytes), why }) => match status.check() {
            Ok(()) => read(context, sent, echo, &bytes[..]),
            Err(code) => refused(code, &bytes, why),
        },
        Response::Held(RawReply { status, bytes: None, why }) => {
            Err(unanswered(context, sent.on(context), status, why))
        }
        Response::Cancelled(end) => Err(ended(sent.on(context), end)),
    }
}

#[inline(always)]
fn read<R: Reply>(
    context: &Context,
    sent: Sent,
    echo: &R::Echo,
    reply: impl Incoming + Copy,
) -> Result<R> {
    R::decode(reply, echo).map_err(|error| unreadable(context, sent, error, reply.bytes()))
}

#[cold]
fn unreadable(context: &Context, sent: Sent, error: DecodeError, reply: &[u8]) -> Error {
    Error::new(DocaError::from(error), format!("reading the answer to {}", sent.on(context)))
        .caused_by(error)
        .with_kind(ErrorKind::Malformed)
        .with_reply(reply)
}

const ASK_FOR_LESS: &str =
    "ask for less, or raise ServiceBuilder::max_message_size, and --max-msg-size of a uromd";

#[cold]
fn unanswered(context: &Context, what: String, status: DocaStatus, words: String) -> Error {
    let Err(code) = status.check() else {
        let error = Error::new(DocaError::UNEXPECTED, what);
        return error.why("the task succeeded without an answer");
    };
    let error = Error::new(code, what);
    if !words.is_empty() {
        let error = error.why(words);
        return if code == DocaError::TOO_BIG { error.hint(ASK_FOR_LESS) } else { error };
    }
    let why = context.failure();
    if !why.is_empty() {
        return error.why(why);
    }
    match (code, context.state()) {
        (DocaError::TOO_BIG, Ok(CtxState::RUNNING)) => {
            error.why("the answer exceeds the message limit").hint(ASK_FOR_LESS)
        }
        (_, Ok(CtxState::RUNNING)) => error.hint("the worker still runs; its log says more"),
        _ => error.hint("see the worker's state; start an ended worker again"),
    }
}
