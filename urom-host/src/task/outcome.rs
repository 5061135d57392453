//! What the end of a task means: its answer, or an error that explains itself.

use urom_abi::DocaError;
use urom_abi::host::CtxState;
use urom_abi::protocol::{Protocol, Reply, Request};
use urom_abi::wire::EncodeError;

use crate::error::{Error, Result};
use crate::task::Response;
use crate::worker::Context;

/// ``Loopback on worker 3, plugin `worker_graph`,``
pub(super) fn what(context: &Context, plugin: &str, command: &str) -> String {
    format!("{command} on {}, plugin `{plugin}`,", context.name())
}

/// The command's own name.
pub(super) fn command<C: Request>() -> &'static str {
    let path = std::any::type_name::<C>();
    let path = path.split('<').next().unwrap_or(path);
    path.rsplit("::").next().unwrap_or(path)
}

pub(super) fn describe<C: Request>(context: &Context) -> String {
    what(context, <C::Protocol as Protocol>::NAME, command::<C>())
}

/// A task that could not be allocated.
pub(super) fn refused(context: &Context, plugin: &str, code: DocaError) -> Error {
    let error = Error::new(code, what(context, plugin, "allocating a task for a command"));
    match (code, context.failure()) {
        (DocaError::NO_MEMORY, _) => {
            let all = format!("all {} tasks are allocated", context.max_inflight.get());
            match context.held() {
                0 => error
                    .why(all)
                    .hint("wait for one to complete, or allow more with WorkerBuilder::max_inflight"),
                held => error
                    .why(format!("{all}, {held} of them by replies whose payloads are still held"))
                    .hint("drop payloads of earlier replies, or copy them with to_vec"),
            }
        }
        (DocaError::BAD_STATE, why) if why.is_empty() => {
            error.why("the worker does not run").hint("start a new worker")
        }
        // The library's words end in what to do.
        (_, why) => error.why(why),
    }
}

/// A task that could not be submitted; `what` names it.
pub(super) fn rejected(context: &Context, what: String, code: DocaError) -> Error {
    let error = Error::new(code, what).why(context.failure());
    match code {
        DocaError::TOO_BIG => {
            error.hint("send less, or raise ServiceBuilder::max_message_size and uromd --max-msg-size")
        }
        DocaError::BAD_STATE => error.hint("start a new worker"),
        _ => error,
    }
}

/// A command that does not fit.
pub(super) fn unencodable<C: Request>(context: &Context, error: EncodeError) -> Error {
    Error::new(error.into(), describe::<C>(context)).caused_by(error)
}

/// What a task ended with, as the command's reply.
pub(super) fn read<C: Request>(
    context: &Context,
    echo: &<C::Reply as Reply>::Echo,
    mut response: Response<'_>,
) -> Result<C::Reply> {
    let reply = match (response.status().check(), response.reply()) {
        (Ok(()), Some(_)) => C::Reply::decode(&mut response, echo),
        (Ok(()), None) => {
            return Err(Error::new(DocaError::UNEXPECTED, describe::<C>(context))
                .why("the task succeeded without an answer"));
        }
        (Err(code), bytes) => return Err(failed(context, describe::<C>(context), code, bytes)),
    };
    reply.map_err(|error| {
        Error::new(DocaError::from(error), format!("reading the answer to {}", describe::<C>(context)))
            .caused_by(error)
            .with_reply(response.reply().unwrap_or_default())
    })
}

/// A task that completed with a code other than `SUCCESS`.
pub(super) fn failed(context: &Context, what: String, code: DocaError, bytes: Option<&[u8]>) -> Error {
    let error = Error::new(code, what);
    match bytes {
        Some(bytes) => error
            .why("the plugin answered with this status")
            .hint("its reason is in the worker's log")
            .with_reply(bytes),
        None => match context.failure() {
            why if why.is_empty() => match (code, context.state()) {
                (DocaError::TOO_BIG, Ok(CtxState::RUNNING)) => error
                    .why("the answer exceeds the message limit")
                    .hint("ask for less, or raise ServiceBuilder::max_message_size and uromd --max-msg-size"),
                (_, Ok(CtxState::RUNNING)) => error.hint("the worker still runs; its log says more"),
                _ => error.hint("see the worker's state; one that is gone must be started anew"),
            },
            // The library's words end in what to do.
            why => error.why(why),
        },
    }
}
