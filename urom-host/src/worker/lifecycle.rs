//! Start, restart and stop, as futures.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use urom_abi::host::CtxState;
use urom_abi::{DocaError, Quantity};

use crate::context::ObjectKind;
use crate::engine::ProgressEngine;
use crate::error::{Error, Result};
use crate::pending::Pending;
use crate::worker::Worker;
use crate::worker::builder::WorkerBuilder;
use crate::worker::context::Owner;

impl WorkerBuilder {
    /// Asks the service for the worker (`doca_ctx_start`) and gives a future of it.
    ///
    /// The request has been sent when this returns.
    ///
    /// # Errors
    /// The future resolves to `INVALID_VALUE` for invalid settings (no plugin, a plugin of another
    /// service, CPUs that the service does not have, an environment variable with `=` or NUL in its
    /// name). When the worker does not run in the end, it resolves to the service's own code and
    /// words (`INITIALIZATION` from a library that gives none): a plugin does not load or open,
    /// there is an environment for a worker that exists already, or an existing worker does not
    /// have a plugin.
    pub fn start(self) -> Pending<Worker> {
        Pending::new(running(self.begin()))
    }
}

async fn running(start: Result<Owner>) -> Result<Worker> {
    let owner = start?;
    if owner.started().await? != CtxState::RUNNING {
        return Err(owner.start_failure());
    }
    owner.refresh_id()?;
    Ok(Worker { owner: owner.share() })
}

/// How long the service may take to notice what this host has noticed: as long as it has for a
/// worker that died, and longer than a worker's heartbeat.
const NOTICE: Duration = Duration::from_secs(2);

/// The first pause between two attempts to restart.
const PAUSE: Duration = Duration::from_millis(1);

impl Worker {
    /// Starts a new worker in place of this one, which is gone: with the same id, group, plugins,
    /// environment, CPUs, limits and default deadline, on the same service and engine.
    ///
    /// No worker restarts by itself, because its plugins lose what they knew. Nothing of the old
    /// worker is carried over: its tasks have ended with errors, and its domains, registered and
    /// shared memory and payloads stay with it. Memory has to be
    /// [shared](crate::memory::Share::share) with the new worker again. The old `Worker` does not
    /// change, so a restart that fails can be tried again.
    ///
    /// This host may know of the loss before the service does. While the service says that the old
    /// worker runs, or that there is no room beside it, it is asked again for two seconds, at first
    /// after a millisecond, then after twice the pause before. Nothing else is tried again.
    ///
    /// When another host has started a worker of this id meanwhile, this connects to that one, as
    /// [`WorkerBuilder::id`] does. If the [environment](WorkerBuilder::env) of that worker differs,
    /// it does so only at the end of these two seconds, and the worker keeps its environment.
    /// A worker that must be started after all, because that one ends at this moment, has none.
    ///
    /// # Errors
    /// The future resolves to `IN_USE` when this worker still runs, to `CONNECTION_RESET` when the
    /// new one dies while it starts, and otherwise as that of [`WorkerBuilder::start`]. When the
    /// service is gone as well (`NOT_CONNECTED` and the like), the program has to
    /// [connect](crate::Service::connect) again.
    pub fn restart(&self) -> Pending<Worker> {
        let builder = WorkerBuilder::again(&self.owner);
        let engine = self.owner.engine.clone();
        let mut asked = Instant::now();
        let until = asked + NOTICE;
        let mut start = is_gone(&self.owner).and_then(|()| builder.clone().begin());
        Pending::new(async move {
            let mut pause = PAUSE;
            loop {
                let error = match running(start).await {
                    Err(error) if may_be_early(&error) => error,
                    result => return result,
                };
                if asked >= until {
                    // A worker that exists for so long was started by another host. Only the
                    // environment prevents this host from connecting to it.
                    if error.code() == DocaError::ALREADY_EXIST && builder.has_env() {
                        return running(builder.joining().begin()).await;
                    }
                    return Err(error);
                }
                rest(&engine, until.min(Instant::now() + pause)).await;
                pause *= 2;
                // When the answer came is not known: it may have been there before anybody polled.
                asked = Instant::now();
                start = builder.clone().begin();
            }
        })
    }
}

fn may_be_early(error: &Error) -> bool {
    matches!(error.code(), DocaError::ALREADY_EXIST | DocaError::FULL)
}

async fn rest(engine: &ProgressEngine, until: Instant) {
    poll_fn(|cx| {
        if engine.poll(cx, || Instant::now() >= until) {
            return Poll::Ready(());
        }
        engine.look_again(cx);
        engine.core().wake_at(until, cx.waker());
        Poll::Pending
    })
    .await;
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

pub(super) fn stop(owner: Rc<Owner>) -> Pending<()> {
    let in_use = || Error::new(DocaError::IN_USE, format!("stopping {}", owner.name()));
    let begun = match (owner.domains.get(), owner.held.get()) {
        (0, 0) => owner.stop(),
        (0, held) => Err(in_use()
            .why(format!("replies whose payloads are still held keep {}", Quantity(held, "task")))
            .hint("drop the payloads first, or copy them; the worker stops with the last of them")),
        _ => Err(in_use()
            .why("it is in a domain")
            .hint("stop or drop the domain first; the worker stops with it")),
    };
    Pending::new(async move {
        begun?;
        let is_over = |state: &Result<CtxState>| {
            state.as_ref().map_or(true, |state| *state == CtxState::IDLE)
        };
        poll_fn(|cx| owner.poll_state(cx, is_over)).await.map(drop)
    })
}
