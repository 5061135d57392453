//! A pending or submitted operation.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use rdma_protocol::{Added, Opcode, ReadDone, ReceiveDone, Sent, Swapped, Written};
use urom_abi::protocol::Reply;
use urom_host::{Completion, DocaError, Result, block_on};

use crate::Rdma;
use crate::local::Destination;
use crate::remote::refused;

/// A running operation: a future of its result.
///
/// The call submits it, unless its memory, or an earlier operation's, is new to the worker. Then
/// polling submits it; later operations, and others with the same new memory, wait for that.
/// Dropping it does not stop a submitted operation, but cancels an unsubmitted one.
#[must_use = "an operation is submitted by polling it, if its memory is new to the worker"]
pub struct Operation<R: Reply, L = ()> {
    phase: SubmitPhase<R>,
    /// Returned with the result.
    local: Option<L>,
    _rdma: Rdma,
}

enum SubmitPhase<R: Reply> {
    Submitted(Completion<R>),
    Waiting(Pin<Box<dyn Future<Output = Result<Completion<R>>>>>),
    Refused(Option<urom_host::Error>),
}

/// A received message.
#[derive(Debug)]
pub struct Message<L> {
    /// The other end's operation that sent it.
    pub opcode: Opcode,
    /// Number of bytes in the destination: 0 for a write with immediate.
    pub len: u64,
    /// The immediate value, if the operation has one.
    pub immediate: Option<u32>,
    /// The destination of the receive.
    pub destination: L,
}

/// Converts an answer for the program.
#[doc(hidden)]
pub trait ReplyOutput<L>: Reply {
    type Output;

    fn outcome(self, local: L) -> Result<Self::Output>;
}

macro_rules! nothing {
    ($($reply:ident)*) => {$(
        impl ReplyOutput<()> for $reply {
            type Output = ();

            fn outcome(self, (): ()) -> Result<()> {
                Ok(())
            }
        }
    )*};
}

nothing!(Sent Written ReadDone);

impl ReplyOutput<()> for Swapped {
    type Output = u64;

    fn outcome(self, (): ()) -> Result<u64> {
        Ok(self.before)
    }
}

impl ReplyOutput<()> for Added {
    type Output = u64;

    fn outcome(self, (): ()) -> Result<u64> {
        Ok(self.before)
    }
}

impl<L: Destination> ReplyOutput<L> for ReceiveDone {
    type Output = Message<L>;

    fn outcome(self, destination: L) -> Result<Message<L>> {
        destination.received(self.len)?;
        let immediate = u32::from_be_bytes(self.immediate);
        let immediate = (self.opcode != Opcode::Send).then_some(immediate);
        Ok(Message { opcode: self.opcode, len: self.len, immediate, destination })
    }
}

impl<R: Reply, L> Operation<R, L> {
    pub(crate) fn submitted(
        completion: Result<Completion<R>>,
        local: L,
        rdma: &Rdma,
    ) -> Operation<R, L> {
        let phase = match completion {
            Ok(completion) => SubmitPhase::Submitted(completion),
            Err(error) => SubmitPhase::Refused(Some(error)),
        };
        Operation { phase, local: Some(local), _rdma: rdma.clone() }
    }

    pub(crate) fn waiting(
        submitting: impl Future<Output = Result<Completion<R>>> + 'static,
        local: L,
        rdma: &Rdma,
    ) -> Operation<R, L> {
        let (phase, local) = (SubmitPhase::Waiting(Box::pin(submitting)), Some(local));
        Operation { phase, local, _rdma: rdma.clone() }
    }
}

impl<R: ReplyOutput<L>, L: Unpin + 'static> Operation<R, L> {
    /// Calls a callback with the result, inside the progress call that completes the operation. The
    /// callback may start further operations; it cannot wait.
    ///
    /// `BAD_STATE` at once if its memory is not [registered](crate::Rdma::register).
    pub fn on_complete(self, callback: impl FnOnce(Result<R::Output>) + 'static) {
        match (self.phase, self.local) {
            (SubmitPhase::Submitted(completion), Some(local)) => {
                let rdma = self._rdma;
                let tell = move |reply: Result<R>| {
                    let _rdma = rdma;
                    callback(reply.and_then(|reply| reply.outcome(local)));
                };
                completion.on_complete(tell);
            }
            (SubmitPhase::Refused(Some(error)), _) => callback(Err(error)),
            _ => callback(Err(refused(
                DocaError::BAD_STATE,
                "an operation with a callback",
                "its memory, or an earlier operation's, is new to the worker",
            ))),
        }
    }

    /// The former name of [`on_complete`](Self::on_complete).
    #[deprecated(note = "renamed to `on_complete`")]
    pub fn then(self, callback: impl FnOnce(Result<R::Output>) + 'static) {
        self.on_complete(callback);
    }

    /// Waits for the end, progressing all engines of this thread.
    ///
    /// # Errors
    /// The future's errors; `BAD_STATE` inside a completion callback, which prevents progress.
    pub fn wait(self) -> Result<R::Output> {
        block_on(self)
    }
}

impl<R: ReplyOutput<L>, L: Unpin> Future for Operation<R, L> {
    type Output = Result<R::Output>;

    /// # Panics
    /// When polled after its result was returned.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            match &mut self.phase {
                SubmitPhase::Submitted(completion) => {
                    let Poll::Ready(reply) = Pin::new(completion).poll(cx) else {
                        return Poll::Pending;
                    };
                    let Some(local) = self.local.take() else {
                        unreachable!("polled after its end")
                    };
                    return Poll::Ready(reply.and_then(|reply| reply.outcome(local)));
                }
                SubmitPhase::Waiting(submitting) => match submitting.as_mut().poll(cx) {
                    Poll::Ready(Ok(completion)) => self.phase = SubmitPhase::Submitted(completion),
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => return Poll::Pending,
                },
                SubmitPhase::Refused(error) => {
                    let Some(error) = error.take() else { unreachable!("polled after its end") };
                    return Poll::Ready(Err(error));
                }
            }
        }
    }
}
