//! Restarts of a worker that is gone.

use std::task::{Context as TaskContext, Poll};
use std::time::{Duration, Instant};

use urom_abi::DocaError;
use urom_abi::host::CtxState;

use crate::engine::ProgressEngine;
use crate::error::{Error, Result};
use crate::owner::Owned;
use crate::wait;
use crate::worker::{Owner, Starting, Worker, WorkerBuilder};

impl Worker {
    /// Starts a new worker in place of this one, which is gone: with the same id, group, plugins,
    /// environment, CPUs, limits and default deadline, on the same service and engine.
    ///
    /// No worker restarts by itself, because its plugins lose what they knew. Nothing of the old
    /// worker is carried over: its tasks have ended with errors, and its domains, registered memory
    /// and payloads stay with it. The old `Worker` does not change, so a restart that fails can be
    /// tried again.
    ///
    /// This host may know of the loss before the service does. While the service says that the old
    /// worker runs, or that there is no room beside it, it is asked again for two seconds, at first
    /// after a millisecond, then after twice the pause before. Nothing else is tried again.
    ///
    /// When another host has started a worker of this id meanwhile, this connects to that one, as
    /// [`WorkerBuilder::id`] does. With an [environment](WorkerBuilder::env) it does so only at the
    /// end of these two seconds, and the worker keeps the environment that the other host gave it.
    /// A worker that must be started after all, because that one ends at this moment, has none.
    ///
    /// # Errors
    /// The future resolves to `IN_USE` when this worker still runs, to `CONNECTION_RESET` when the
    /// new one dies while it starts, and otherwise as that of [`WorkerBuilder::start`]. When the
    /// service is gone as well (`NOT_CONNECTED` and the like), the program has to
    /// [connect](crate::Service::connect) again.
    pub fn restart(&self) -> Starting {
        match is_gone(self.owner()) {
            Ok(()) => Starting::again(Restart::of(self.owner())),
            Err(error) => Starting::new(Err(error)),
        }
    }
}

/// How long the service may take to notice what this host has noticed: as long as it has for a
/// worker that died, and longer than a worker's heartbeat.
const NOTICE: Duration = Duration::from_secs(2);

const PAUSE: Duration = Duration::from_millis(1);

/// A restart, until it is over.
pub(super) struct Restart {
    builder: WorkerBuilder,
    engine: ProgressEngine,
    until: Instant,
    pause: Duration,
    asked: Instant,
    rests: Option<Instant>,
    /// Whether a future waits for the next attempt.
    waited: bool,
    /// Whether it now connects to a worker that another host has started.
    joins: bool,
}

impl Restart {
    fn of(owner: &Owner) -> Restart {
        let now = Instant::now();
        Restart {
            builder: WorkerBuilder::again(owner),
            engine: owner.engine.clone(),
            until: now + NOTICE,
            pause: PAUSE,
            asked: now,
            rests: None,
            waited: false,
            joins: false,
        }
    }

    pub(super) fn begin(&self) -> Result<Owner> {
        let builder = self.builder.clone();
        if self.joins { builder.joining().begin() } else { builder.begin() }
    }

    /// Whether to try again after a pause: the service may think that the old worker still runs.
    pub(super) fn is_early(&mut self, error: &Error) -> bool {
        let may_be = matches!(error.code(), DocaError::ALREADY_EXIST | DocaError::FULL);
        if !may_be || self.joins {
            return false;
        }
        let now = Instant::now();
        // Not `now`: the answer may have been there for a while before anybody polled.
        if self.asked < self.until {
            self.rests = Some(self.until.min(now + self.pause));
            self.pause *= 2;
            return true;
        }
        // A worker that exists for so long was started by another host. Only the environment
        // prevents this host from connecting to it.
        self.joins = error.code() == DocaError::ALREADY_EXIST && self.builder.has_env();
        self.rests = self.joins.then_some(now);
        self.joins
    }

    /// Waits for the end of a pause and begins another attempt; `None` when there was no pause.
    pub(super) fn poll_again(&mut self, cx: &TaskContext<'_>) -> Poll<Option<Result<Owner>>> {
        let Some(at) = self.rests else { return Poll::Ready(None) };
        if self.waited && self.engine.is_undriven() {
            return Poll::Ready(Some(Err(wait::undriven("starting a worker again"))));
        }
        if !self.engine.poll(cx, || Instant::now() >= at) {
            self.waited = true;
            self.engine.look_again(cx);
            self.engine.core().deadlines().wake_at(at, cx.waker());
            return Poll::Pending;
        }
        self.rests = None;
        self.waited = false;
        self.asked = Instant::now();
        Poll::Ready(Some(self.begin()))
    }
}

fn is_gone(owner: &Owner) -> Result<()> {
    match owner.state()? {
        CtxState::RUNNING | CtxState::STARTING => {
            Err(Error::new(DocaError::IN_USE, format!("restarting {}", owner.name()))
                .why("it still runs")
                .hint("stop it first, and start a new one"))
        }
        _ => Ok(()),
    }
}
