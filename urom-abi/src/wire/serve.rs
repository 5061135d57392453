//! A command from its bytes to the descriptor of its answer.

use std::pin::Pin;
use std::task::{Context, Poll};

use super::{DecodeError, EncodeError};
use crate::descriptor::NotificationDesc;
use crate::protocol::{Reply, Request};

/// This file, which backtraces show above a handler's method.
pub const FILE: &str = file!();

/// Reads a command and calls `run` at once, then writes the answer with the fields that it repeats.
///
/// Generated code names nothing of the answer, so that one that is no notification is one error.
#[inline]
pub fn serve<C, F, E>(
    read: impl FnOnce() -> Result<C, DecodeError>,
    run: impl FnOnce(C) -> F,
) -> impl Future<Output = Result<NotificationDesc, E>>
where
    C: Request,
    F: Future<Output = Result<C::Reply, E>>,
    E: From<DecodeError> + From<EncodeError>,
{
    match read() {
        Ok(command) => {
            let echo = command.echo();
            Answering::<C, F>::Begun { answer: run(command), echo }
        }
        Err(error) => Answering::Unread(Some(error)),
    }
}

/// Not an `async` block, because that would move what it awaits, for each command.
enum Answering<C: Request, F> {
    /// What is wrong with the command, until it was told.
    Unread(Option<DecodeError>),
    Begun {
        answer: F,
        echo: <C::Reply as Reply>::Echo,
    },
}

impl<C, F, E> Future for Answering<C, F>
where
    C: Request,
    F: Future<Output = Result<C::Reply, E>>,
    E: From<DecodeError> + From<EncodeError>,
{
    type Output = Result<NotificationDesc, E>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: only `answer` is pinned with this. Nothing here moves it, there is no `Drop` that
        // could, and this is `Unpin` only where `answer` is. The error is never pinned.
        match unsafe { self.get_unchecked_mut() } {
            Answering::Begun { answer, echo } => {
                // SAFETY: `answer` is pinned with this future.
                let answer = unsafe { Pin::new_unchecked(answer) };
                answer.poll(cx).map(|reply| Ok(reply?.into_descriptor(echo)?))
            }
            Answering::Unread(error) => {
                let Some(error) = error.take() else {
                    unreachable!("a future that has ended was polled again")
                };
                Poll::Ready(Err(error.into()))
            }
        }
    }
}
