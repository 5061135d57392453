//! Commands and answers as plain bytes, for tests, tools, and plugins whose protocol is stated nowhere.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::ptr::NonNull;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll};

use urom_abi::host::CmdTask;
use urom_abi::wire::EncodeError;

use crate::error::{Error, Result};
use crate::plugin::Plugin;
use crate::task::future::Ticket;
use crate::task::{Task, outcome};
use crate::wait;
use crate::worker::{Answer, Owner, Worker};

const COMMAND: &str = "a raw command";

/// A task that is allocated and not submitted (`struct doca_urom_worker_cmd_task`); dropping it releases it.
///
/// It counts against [`max_inflight`](crate::WorkerBuilder::max_inflight) from now on.
///
/// ```no_run
/// # use urom_host::{Plugin, RawTask, Worker, Result};
/// # fn example(worker: &Worker, plugin: Plugin) -> Result<()> {
/// let task: RawTask = worker.task(plugin)?;
/// let command = vec![0; task.capacity().min(16)];
/// match task.submit(&command) {
///     Ok(completion) => println!("{}", completion.wait()?.status),
///     // The task is still there, for a shorter command, say.
///     Err(rejected) => println!("{}, room for {} bytes", rejected.error, rejected.task.capacity()),
/// }
/// # Ok(())
/// # }
/// ```
pub struct RawTask {
    owner: Rc<Owner>,
    plugin: Plugin,
    capacity: usize,
    /// `None` once it was submitted.
    task: Option<NonNull<CmdTask>>,
}

impl RawTask {
    pub(crate) fn allocate(worker: &Worker, plugin: &Plugin) -> Result<RawTask> {
        let owner = Rc::clone(worker.owner());
        let mut task = Task::allocate(&owner, plugin)?;
        let capacity = task.payload()?.len();
        let task = Some(task.into_raw());
        Ok(RawTask { owner, plugin: *plugin, capacity, task })
    }

    /// How many bytes a command may have.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Submits `command` (`doca_task_submit`).
    ///
    /// # Errors
    /// Together with the error comes the task, still the caller's: `TOO_BIG`, with both numbers, for more bytes than
    /// [`capacity`](Self::capacity), and whatever the library refuses with.
    pub fn submit(mut self, command: &[u8]) -> Result<RawCompletion, Rejected> {
        if let Err(error) = self.fill(command) {
            return Err(Rejected { error, task: self });
        }
        let Some(task) = self.task.take() else { unreachable!("a task is taken only to be submitted") };
        // SAFETY: the task is this owner's, and was just given up by its only other holder.
        let task = unsafe { Task::from_raw(&self.owner, task) };
        let (code, task) = match Ticket::submit(&self.owner, task) {
            Ok(ticket) => return Ok(RawCompletion { ticket }),
            Err((code, task)) => (code, task.into_raw()),
        };
        self.task = Some(task);
        let what = outcome::what(&self.owner, self.plugin.name(), COMMAND);
        Err(Rejected { error: outcome::rejected(&self.owner, what, code), task: self })
    }

    fn fill(&mut self, command: &[u8]) -> Result<()> {
        let Some(task) = self.task else { unreachable!("a task is taken only to be submitted") };
        // SAFETY: the task is this owner's, and not released by this loan.
        let mut task = ManuallyDrop::new(unsafe { Task::from_raw(&self.owner, task) });
        let (need, room) = (command.len(), self.capacity);
        if need > room {
            let error = EncodeError::TooBig { message: COMMAND, need, room };
            return Err(Error::new(error.into(), outcome::what(&self.owner, self.plugin.name(), COMMAND))
                .caused_by(error));
        }
        // First the length: an earlier attempt may have left a shorter one.
        task.set_len(need)?;
        task.payload()?.copy_from_slice(command);
        Ok(())
    }
}

impl Drop for RawTask {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            // SAFETY: the task is this owner's and not in flight.
            drop(unsafe { Task::from_raw(&self.owner, task) });
        }
    }
}

impl fmt::Debug for RawTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawTask").field("plugin", &self.plugin).finish_non_exhaustive()
    }
}

/// A task that was not submitted, and why.
///
/// ```
/// # use urom_host::{DocaError, RawCompletion, RawTask, Rejected, Result};
/// /// Sends what fits.
/// fn submit(task: RawTask, command: &[u8]) -> Result<RawCompletion> {
///     let Rejected { error, task } = match task.submit(command) {
///         Ok(completion) => return Ok(completion),
///         Err(rejected) => rejected,
///     };
///     let room = task.capacity();
///     match error.code() {
///         DocaError::TOO_BIG => Ok(task.submit(&command[..room])?),
///         _ => Err(error),
///     }
/// }
/// ```
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
    /// Releases the task.
    fn from(rejected: Rejected) -> Error {
        rejected.error
    }
}

/// A raw command in flight: a future of its [`Answer`], whatever its status.
///
/// ```no_run
/// # use urom_host::{Plugin, RawCompletion, Worker, Result};
/// # fn example(worker: &Worker, plugin: Plugin) -> Result<()> {
/// let completions: Vec<RawCompletion> =
///     (0..4).map(|_| worker.command(plugin, &[0; 16])).collect::<Result<_>>()?;
/// for completion in completions {
///     println!("{:?}", completion.wait()?);
/// }
/// # Ok(())
/// # }
/// ```
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
}

impl Future for RawCompletion {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Answer> {
        self.ticket.poll(cx, |_, response| response.into_answer())
    }
}

impl fmt::Debug for RawCompletion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawCompletion").field("complete", &self.ticket.is_complete()).finish()
    }
}
