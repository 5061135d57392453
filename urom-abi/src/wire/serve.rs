//! A command from its bytes to the descriptor of its answer.

use std::pin::Pin;
use std::task::{Context, Poll};

use super::{DecodeError, EncodeError};
use crate::descriptor::NotificationDesc;
use crate::protocol::{Reply, Request};

/// Reads a command, lets `run` answer it, and writes the answer with the fields that it repeats.
///
/// It is generic so that generated code names nothing of the answer: when that is no notification, the error is where
/// the answer is named, and nowhere else.
///
/// # Errors
/// The future's are those of `read`, of `run`, and of [`Reply::into_descriptor`].
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

/// What an `async fn` would be, but for what that moves: its arguments from one place in the future to another, and the handler's
/// future once more.
enum Answering<C: Request, F> {
    /// What is wrong with the command, until that was told.
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
        // SAFETY: the handler's future stays where it is: nothing here moves it, and there is no `Drop` that could.
        match unsafe { self.get_unchecked_mut() } {
            Answering::Begun { answer, echo } => {
                // SAFETY: this future is pinned, and it is a part of it.
                let answer = unsafe { Pin::new_unchecked(answer) };
                answer.poll(cx).map(|reply| Ok(reply?.into_descriptor(echo)?))
            }
            Answering::Unread(error) => match error.take() {
                Some(error) => Poll::Ready(Err(error.into())),
                None => Poll::Pending,
            },
        }
    }
}
