//! Commands and answers as plain bytes, for tests and tools.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::ptr::NonNull;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use urom_abi::DocaError;
use urom_abi::plugin::PluginInfo;

use crate::error::{Error, Result};
use crate::plugin::Plugin;
use crate::task::future::Ticket;
use crate::task::{Task, TaskHandle, outcome};
use crate::wait;
use crate::worker::{Answer, End, Owner, Slot, Worker};

const COMMAND: &str = "a raw command";

impl Worker {
    /// Allocates a task for a command given as bytes (`doca_urom_worker_cmd_task_allocate_init`).
    ///
    /// # Errors
    /// `NO_MEMORY` when all tasks are allocated, `BAD_STATE` when the worker does not run,
    /// `INVALID_VALUE` for a plugin it was not started with.
    pub fn task(&self, plugin: impl AsRef<Plugin>) -> Result<RawTask> {
        let (owner, plugin) = (Rc::clone(self.owner()), plugin.as_ref());
        let mut task = Task::allocate(&owner, plugin)?;
        let capacity = task.payload().len();
        let slot = Some(NonNull::from(task.into_slot()));
        owner.unsubmitted.update(|tasks| tasks + 1);
        Ok(RawTask { owner, plugin: *plugin.info(), capacity, deadline: None, slot })
    }

    /// Submits a command given as bytes.
    ///
    /// # Errors
    /// As [`task`](Self::task) and [`RawTask::submit`].
    pub fn command(&self, plugin: impl AsRef<Plugin>, command: &[u8]) -> Result<RawCompletion> {
        Ok(self.task(plugin)?.submit(command)?)
    }
}

/// A task that is allocated and not submitted (`struct doca_urom_worker_cmd_task`). Dropping it
/// releases it.
///
/// It counts against [`max_inflight`](crate::WorkerBuilder::max_inflight).
pub struct RawTask {
    owner: Rc<Owner>,
    /// Only the information of the plugin, because errors hold tasks and should be small.
    plugin: PluginInfo,
    capacity: usize,
    deadline: Option<Duration>,
    slot: Option<NonNull<Slot>>,
}

impl RawTask {
    /// Gives the command up `limit` after its submission: its [`Answer`] then is `TIME_OUT` without
    /// bytes. It replaces [the worker's](crate::WorkerBuilder::deadline); [`Duration::MAX`] is
    /// none. [`Completion`](crate::Completion) says more about deadlines.
    pub fn deadline(mut self, limit: Duration) -> Self {
        self.deadline = Some(limit);
        self
    }

    /// How many bytes a command may have.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Submits `command` (`doca_task_submit`). It is sent at once, or together with others in the
    /// next [`progress`](crate::ProgressEngine::progress). A program that waits for its effect by
    /// other means progresses the engine first.
    ///
    /// # Errors
    /// The error gives the task back: `TOO_BIG` for more bytes than [`capacity`](Self::capacity),
    /// with both numbers, and whatever the library refuses with.
    pub fn submit(mut self, command: &[u8]) -> Result<RawCompletion, Rejected> {
        match self.begin(command) {
            Ok(ticket) => {
                self.slot = None;
                Ok(RawCompletion { ticket })
            }
            Err(error) => Err(Rejected { error, task: self }),
        }
    }

    /// The task, which is given back when the result is dropped.
    fn task(&self) -> Option<Task<'_>> {
        // SAFETY: slots live as long as their owner, which is kept.
        let slot = unsafe { self.slot?.as_ref() };
        Task::of(&self.owner, slot)
    }

    fn begin(&self, command: &[u8]) -> Result<Ticket> {
        let Some(task) = self.task() else { unreachable!("a task is taken only to be submitted") };
        let mut task = ManuallyDrop::new(task);
        let what = || outcome::what(&self.owner, self.plugin.name().unwrap_or_default(), COMMAND);
        let (need, room) = (command.len(), self.capacity);
        if need > room {
            return Err(Error::new(DocaError::TOO_BIG, what())
                .why(format!("it takes {need} bytes, but {room} fit"))
                .hint(outcome::SEND_LESS));
        }
        task.payload()[..need].copy_from_slice(command);
        task.set_len(need)?;
        let task = ManuallyDrop::into_inner(task);
        Ticket::submit(&self.owner, task, self.deadline).map_err(|(code, task)| {
            task.leave();
            outcome::rejected(&self.owner, what(), code)
        })
    }
}

impl Drop for RawTask {
    fn drop(&mut self) {
        drop(self.task());
        self.owner.unsubmitted.update(|tasks| tasks - 1);
    }
}

debug_fields!(RawTask, |it| { plugin: it.plugin });

/// A task that was not submitted, and why.
#[derive(Debug)]
pub struct Rejected {
    /// What stopped it.
    pub error: Error,
    /// The task, still the caller's.
    pub task: RawTask,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl StdError for Rejected {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.error.source()
    }
}

impl From<Rejected> for Error {
    fn from(rejected: Rejected) -> Error {
        rejected.error
    }
}

/// A raw command in flight: a future of its [`Answer`], whatever its status.
#[must_use = "dropping a completion throws the answer away"]
pub struct RawCompletion {
    ticket: Ticket,
}

impl RawCompletion {
    /// Waits for the answer, progressing all engines of this thread.
    ///
    /// # Errors
    /// `BAD_STATE` inside a completion callback, where nothing can move.
    pub fn wait(self) -> Result<Answer> {
        wait::allowed()?;
        self.ticket.spin();
        Ok(wait::block_on(self))
    }

    /// Gives the command up, as [`Completion::cancel`](crate::Completion::cancel) does: the answer
    /// is `SKIPPED` without bytes.
    pub fn cancel(&self) -> bool {
        self.ticket.cancel()
    }

    /// A handle to cancel the task while this is being awaited.
    pub fn handle(&self) -> TaskHandle {
        self.ticket.handle()
    }
}

impl Future for RawCompletion {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Answer> {
        self.ticket.poll(cx, |context, slot| {
            let response = context.take(slot);
            if response.end() == Some(End::Undriven) {
                // An answer has no text.
                tracing::warn!("{}", wait::undriven("a raw command"));
            }
            response.into_answer()
        })
    }
}

debug_fields!(RawCompletion, |it| { complete: it.ticket.is_complete() });
