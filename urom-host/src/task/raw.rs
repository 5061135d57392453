//! Commands and answers as bytes, for tests and tools.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use urom_abi::wire::EncodeError;

use crate::error::Result;
use crate::plugin::Plugin;
use crate::task::future::InFlight;
use crate::task::{Task, TaskHandle, outcome};
use crate::wait;
use crate::worker::{RawReply, Worker};

const COMMAND: &str = "a raw command";

impl Worker {
    /// A task for a command of `plugin` as bytes.
    pub fn task<'a>(&'a self, plugin: impl AsRef<Plugin>, command: &'a [u8]) -> RawTask<'a> {
        RawTask { worker: self, plugin: *plugin.as_ref(), command, timeout: None }
    }
}

/// An unsubmitted command as bytes.
#[derive(Debug)]
#[must_use = "nothing is sent before `submit`"]
pub struct RawTask<'a> {
    worker: &'a Worker,
    plugin: Plugin,
    command: &'a [u8],
    timeout: Option<Duration>,
}

impl RawTask<'_> {
    /// Cancels the command `limit` after its submission: its [`RawReply`] is then `TIME_OUT`
    /// without bytes. Overrides [the worker's](crate::WorkerBuilder::timeout); [`Duration::MAX`]
    /// means none. See [`Completion`](crate::Completion).
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// Is [`Self::timeout`].
    #[deprecated(note = "use `timeout`")]
    pub fn deadline(self, limit: Duration) -> Self {
        self.timeout(limit)
    }

    /// Submits the command (`doca_task_submit`). It is sent now or with others in the next
    /// [`progress`](crate::ProgressEngine::progress): progress the engine before other waits.
    ///
    /// # Errors
    /// `NO_MEMORY` when all tasks are allocated, `BAD_STATE` when the worker does not run,
    /// `INVALID_VALUE` for a plugin that the worker was not started with, `TOO_BIG` for too many
    /// bytes, with both numbers and an [`EncodeError`] as the cause, and the library's errors.
    pub fn submit(self) -> Result<RawCompletion> {
        let (owner, need) = (self.worker.owner(), self.command.len());
        let mut task = Task::allocate(owner, &self.plugin)?;
        let what = || outcome::what(owner, self.plugin.name(), COMMAND);
        let capacity = task.payload().len();
        let Some(payload) = task.payload().get_mut(..need) else {
            let error = EncodeError::TooBig { message: COMMAND, need, capacity };
            return Err(outcome::unencodable(what(), error));
        };
        payload.copy_from_slice(self.command);
        task.set_len(need)?;
        let in_flight = InFlight::submit(owner, task, self.timeout)
            .map_err(|(code, _task)| outcome::rejected(owner, what(), code))?;
        Ok(RawCompletion { in_flight })
    }
}

/// A raw command in flight: a future of its [`RawReply`] with any status.
///
/// # Panics
/// When polled after it has resolved.
#[must_use = "dropping a completion throws the reply away"]
pub struct RawCompletion {
    in_flight: InFlight,
}

impl RawCompletion {
    /// Waits for the reply, progressing all engines of this thread.
    ///
    /// # Errors
    /// `BAD_STATE` inside a completion callback.
    ///
    /// # Panics
    /// With the panic of a callback that ran meanwhile.
    pub fn wait(self) -> Result<RawReply> {
        wait::allowed()?;
        self.in_flight.spin();
        Ok(wait::block_on_after_spin(self))
    }

    /// Cancels the command: the reply is `SKIPPED` without bytes.
    pub fn cancel(&self) -> bool {
        self.in_flight.cancel()
    }

    /// A handle to cancel the task while this future is awaited.
    pub fn handle(&self) -> TaskHandle {
        self.in_flight.handle()
    }
}

impl Future for RawCompletion {
    type Output = RawReply;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<RawReply> {
        self.in_flight.poll(cx, |context, slot| context.take(slot).into_reply())
    }
}

debug_fields!(RawCompletion, |it| { complete: it.in_flight.is_complete() });
