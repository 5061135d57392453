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
    /// Sends the request for the worker (`doca_ctx_start`) and returns a future of the worker.
    ///
    /// # Errors
    /// The future resolves to `INVALID_VALUE` for invalid settings (no plugin, a plugin of another
    /// service, CPUs that the service does not have, an environment variable with `=` or NUL in its
    /// name). If the worker does not run, it resolves to the service's code and reason
    /// (`INITIALIZATION` from a library without reasons): a plugin does not load or open, or an
    /// existing worker is given an environment or lacks a plugin.
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

/// How long the service may take to notice a loss: longer than a worker's heartbeat.
const NOTICE: Duration = Duration::from_secs(2);

const PAUSE: Duration = Duration::from_millis(1);

impl Worker {
    /// Starts a new worker to replace this one, which has ended: with the same id, group, plugins,
    /// environment, CPUs, limits and default deadline, on the same service and engine.
    ///
    /// Workers do not restart automatically, because their plugins lose their state. The old
    /// worker's tasks have ended with errors; its domains, registered and shared memory and
    /// payloads stay with it. Memory must be [shared](crate::memory::Share::share) again. The old
    /// `Worker` does not change, so a failed restart can be repeated.
    ///
    /// This host may notice the loss before the service does. While the service reports that the
    /// old worker runs, or that it is at capacity, the request is repeated for 2 s, after 1 ms at
    /// first and then with a doubling pause. Other errors are not retried.
    ///
    /// If another host has started a worker with this id meanwhile, this connects to it, as
    /// [`WorkerBuilder::id`] does. If the [environment](WorkerBuilder::env) of that worker differs,
    /// this happens only after the 2 s, and the worker keeps its environment. If that worker ends
    /// at this moment, the new one gets an empty environment.
    ///
    /// # Errors
    /// `IN_USE` when this worker still runs, `CONNECTION_RESET` when the new one dies during its
    /// start, else as [`WorkerBuilder::start`]. If the service has ended too (`NOT_CONNECTED` and
    /// similar codes), the program must [connect](crate::Service::connect) again.
    pub fn restart(&self) -> Pending<Worker> {
        let mut builder = WorkerBuilder::again(&self.owner);
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
                    // By now it is another host's worker, and only the environment prevents a join.
                    let has_env = !builder.settings.env.is_empty();
                    if error.code() == DocaError::ALREADY_EXIST && has_env {
                        builder.joins = true;
                        return running(builder.begin()).await;
                    }
                    return Err(error);
                }
                rest(&engine, until.min(Instant::now() + pause)).await;
                pause *= 2;
                // The answer's time is unknown: it may have arrived before the first poll.
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
        owner.idle().await
    })
}
