//! A command from its bytes to the descriptor of its answer.

use std::pin::Pin;
use std::task::{Context, Poll};

use super::{DecodeError, EncodeError};
use crate::protocol::{Answer, AnswerPlace, Now, Reply, Request};

/// This file, which backtraces show above a handler's method.
pub const FILE: &str = file!();

/// Reads a command and calls `run` at once, then writes the answer with the fields that it repeats,
/// to the place that `place` gives then, if any.
///
/// Generated code names nothing of the answer, so that one that is no notification is one error.
#[inline]
pub fn serve<'a, C, F, E>(
    read: impl FnOnce() -> Result<C, DecodeError>,
    run: impl FnOnce(C) -> F,
    place: impl Fn(Now) -> AnswerPlace<'a>,
) -> impl Future<Output = Result<Answer, E>>
where
    C: Request,
    F: Future<Output = Result<C::Reply, E>>,
    E: From<DecodeError> + From<EncodeError>,
{
    match read() {
        Ok(command) => {
            let echo = command.echo();
            Answering::<C, F, _>::Begun { answer: run(command), echo, place }
        }
        Err(error) => Answering::Unread(Some(error)),
    }
}

/// Not an `async` block, because that would move what it awaits, for each command.
enum Answering<C: Request, F, P> {
    /// What is wrong with the command, until it was told.
    Unread(Option<DecodeError>),
    Begun {
        answer: F,
        echo: <C::Reply as Reply>::Echo,
        place: P,
    },
}

impl<'a, C, F, P, E> Future for Answering<C, F, P>
where
    C: Request,
    F: Future<Output = Result<C::Reply, E>>,
    P: Fn(Now) -> AnswerPlace<'a>,
    E: From<DecodeError> + From<EncodeError>,
{
    type Output = Result<Answer, E>;

    #[inline]
    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: only `answer` is pinned with this. Nothing here moves it, there is no `Drop` that
        // could, and this is `Unpin` only where `answer` is. The error is never pinned.
        match unsafe { self.get_unchecked_mut() } {
            Answering::Begun { answer, echo, place } => {
                // SAFETY: `answer` is pinned with this future.
                let answer = unsafe { Pin::new_unchecked(answer) };
                answer.poll(task).map(|reply| {
                    // SAFETY: the answer is written here, and lets go of the place.
                    let now = unsafe { Now::new() };
                    Ok(reply?.write(echo, place(now))?)
                })
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
