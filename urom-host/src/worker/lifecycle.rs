//! Start and stop, as futures.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll, ready};

use urom_abi::host::CtxState;
use urom_abi::{Count, DocaError};

use crate::error::{Error, Result};
use crate::owner::Owned;
use crate::wait;
use crate::worker::restart::Restart;
use crate::worker::{Owner, Worker};

/// A worker that is starting: a future of the running [`Worker`].
///
/// The start has begun: several can be awaited together. Dropping this stops the worker again.
#[must_use = "dropping it stops the worker again"]
pub struct Starting {
    /// `None` while a restart pauses, and once this has resolved.
    start: Option<Result<Owner>>,
    /// For a restart, which may need several attempts.
    again: Option<Restart>,
}

impl Starting {
    pub(super) fn new(start: Result<Owner>) -> Starting {
        Starting { start: Some(start), again: None }
    }

    pub(super) fn again(restart: Restart) -> Starting {
        Starting { start: Some(restart.begin()), again: Some(restart) }
    }

    /// Waits until the worker runs, progressing all engines of this thread.
    ///
    /// # Errors
    /// As [`WorkerBuilder::start`](crate::WorkerBuilder::start); `BAD_STATE` inside a completion
    /// callback.
    ///
    /// # Panics
    /// With the panic of a callback that ran meanwhile.
    pub fn wait(self) -> Result<Worker> {
        wait::run(self)
    }
}

impl Future for Starting {
    type Output = Result<Worker>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Result<Worker>> {
        let this = &mut *self;
        loop {
            if let Some(again) = &mut this.again
                && let Some(start) = ready!(again.poll_again(cx))
            {
                this.start = Some(start);
            }
            let state = match &this.start {
                Some(Ok(owner)) => {
                    let what = || format!("starting {}", owner.name());
                    ready!(owner.poll_started(&owner.engine, cx, what))
                }
                Some(Err(_)) => Ok(CtxState::IDLE),
                None => panic!("a start was polled after it had resolved"),
            };
            let start = this.start.take().unwrap_or_else(|| unreachable!());
            let worker = start.and_then(|owner| running(owner, state?));
            let again = this.again.as_mut();
            if !worker.as_ref().is_err_and(|error| again.is_some_and(|again| again.is_early(error)))
            {
                return Poll::Ready(worker);
            }
        }
    }
}

fn running(owner: Owner, state: CtxState) -> Result<Worker> {
    if state != CtxState::RUNNING {
        return Err(owner.start_failure(format!("starting {}", owner.name())));
    }
    owner.refresh_id()?;
    Ok(Worker { owner: owner.share() })
}

debug_fields!(Starting, |_| {});

/// A worker that is stopping: a future of the moment when it is idle.
///
/// The stop has begun. Dropping this leaves the rest to the engine, as dropping a [`Worker`] does.
#[must_use = "dropping it stops the worker without telling what went wrong"]
pub struct Stopping {
    owner: Rc<Owner>,
    begun: Result<()>,
}

impl Stopping {
    pub(super) fn begin(owner: Rc<Owner>) -> Stopping {
        let begun = match (owner.domains.get(), owner.held.get(), owner.unsubmitted.get()) {
            (0, 0, 0) => owner.stop(),
            (0, 0, tasks) => Err(in_use(&owner)
                .why(format!("it has {} allocated and not submitted", Count(tasks, "task")))
                .hint(
                    "submit or drop the raw tasks first; the worker stops with the last of them",
                )),
            (0, held, _) => Err(in_use(&owner)
                .why(format!("replies whose payloads are still held keep {}", Count(held, "task")))
                .hint(
                    "drop the payloads first, or copy them; the worker stops with the last of them",
                )),
            _ => Err(in_use(&owner)
                .why("it is in a domain")
                .hint("stop or drop the domain first; the worker stops with it")),
        };
        Stopping { owner, begun }
    }

    /// Waits until the worker is idle, progressing all engines of this thread.
    ///
    /// # Errors
    /// Whatever the library refused to stop with; `BAD_STATE` inside a completion callback.
    ///
    /// # Panics
    /// With the panic of a callback that ran meanwhile.
    pub fn wait(self) -> Result<()> {
        wait::run(self)
    }
}

fn in_use(owner: &Owner) -> Error {
    Error::new(DocaError::IN_USE, format!("stopping {}", owner.name()))
}

impl Future for Stopping {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Result<()>> {
        std::mem::replace(&mut self.begun, Ok(()))?;
        let is_over = |state: &Result<CtxState>| {
            state.as_ref().map_or(true, |state| *state == CtxState::IDLE)
        };
        let what = || format!("stopping {}", self.owner.name());
        self.owner.poll_state(&self.owner.engine, cx, is_over, what).map_ok(drop)
    }
}

debug_fields!(Stopping, |it| { worker: it.owner.name() });
