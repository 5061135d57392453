//! A domain's start, as a future.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll, ready};

use urom_abi::host::CtxState;

use super::Domain;
use super::context::Owner;
use crate::error::Result;
use crate::wait;

/// A domain that is starting: a future of the running [`Domain`].
///
/// The start has begun. It goes on while the engine is progressed, and ends when all processes have
/// exchanged their data. Dropping this stops the domain again; the others fail, at once or when the
/// time of their all-gather is over.
#[must_use = "dropping it stops the domain again"]
pub struct StartingDomain {
    /// `None` once this has resolved.
    start: Option<Result<Owner>>,
}

impl StartingDomain {
    pub(super) fn new(start: Result<Owner>) -> StartingDomain {
        StartingDomain { start: Some(start) }
    }

    /// Waits until the domain runs, progressing all engines of this thread.
    ///
    /// # Errors
    /// As [`DomainBuilder::start`](crate::DomainBuilder::start); `BAD_STATE` inside a completion
    /// callback.
    ///
    /// # Panics
    /// With the panic of the all-gather, or of a callback that ran meanwhile.
    pub fn wait(self) -> Result<Domain> {
        wait::run(self)
    }
}

impl Future for StartingDomain {
    type Output = Result<Domain>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Result<Domain>> {
        let state = match &self.start {
            Some(Ok(owner)) => {
                ready!(owner.poll_started(&owner.engine, cx, || "starting a domain".to_owned()))
            }
            Some(Err(_)) => Ok(CtxState::IDLE),
            None => panic!("a start was polled after it had resolved"),
        };
        let start = self.start.take();
        Poll::Ready(
            start.unwrap_or_else(|| unreachable!()).and_then(|owner| running(owner, state?)),
        )
    }
}

fn running(owner: Owner, state: CtxState) -> Result<Domain> {
    match state {
        CtxState::RUNNING => Ok(Domain { owner }),
        _ => Err(owner.start_failure()),
    }
}

debug_fields!(StartingDomain, |_| {});
