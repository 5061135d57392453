//! Serves a command, from its bytes to its answer.

use std::pin::Pin;
use std::task::{Context, Poll};

use super::{DecodeError, EncodeError};
use crate::protocol::{Answer, AnswerBuffer, Now, Reply, Request};

/// The path of this file, which backtraces show above a handler's method.
pub const FILE: &str = file!();

/// Decodes a command, calls `run` and writes the answer with its echoed fields to `buffer`'s
/// result, if any. Generated code does not name the answer here, so a wrong type is a single error.
#[inline]
pub fn serve<'a, C, F, E>(
    read: impl FnOnce() -> Result<C, DecodeError>,
    run: impl FnOnce(C) -> F,
    buffer: impl Fn(Now) -> AnswerBuffer<'a>,
) -> impl Future<Output = Result<Answer, E>>
where
    C: Request,
    F: Future<Output = Result<C::Reply, E>>,
    E: From<DecodeError> + From<EncodeError>,
{
    match read() {
        Ok(command) => {
            let echo = command.echo();
            Answering::<C, F, _>::Begun { answer: run(command), echo, buffer }
        }
        Err(error) => Answering::Unread(Some(error)),
    }
}

/// Not an `async` block, which would move the awaited future for each command.
enum Answering<C: Request, F, P> {
    Unread(Option<DecodeError>),
    Begun { answer: F, echo: <C::Reply as Reply>::Echo, buffer: P },
}

impl<'a, C, F, P, E> Future for Answering<C, F, P>
where
    C: Request,
    F: Future<Output = Result<C::Reply, E>>,
    P: Fn(Now) -> AnswerBuffer<'a>,
    E: From<DecodeError> + From<EncodeError>,
{
    type Output = Result<Answer, E>;

    #[inline]
    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: only `answer` is structurally pinned. Nothing here moves it, this type does not
        // implement `Drop`, and it is `Unpin` only if `answer` is. The error is never pinned.
        match unsafe { self.get_unchecked_mut() } {
            Answering::Begun { answer, echo, buffer } => {
                // SAFETY: `answer` is pinned with this future.
                let answer = unsafe { Pin::new_unchecked(answer) };
                answer.poll(task).map(|reply| {
                    // SAFETY: the answer is written in this statement, which releases the buffer.
                    let now = unsafe { Now::new() };
                    Ok(reply?.write(echo, buffer(now))?)
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
