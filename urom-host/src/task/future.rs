//! A task as a future.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use urom_abi::DocaError;
use urom_abi::protocol::{Reply, Request};

use crate::error::Result;
use crate::plugin::Plugin;
use crate::task::outcome::{self, Sent};
use crate::task::{Task, TaskHandle};
use crate::wait;
use crate::worker::{Context, Owner, Slot, SlotState, Worker};

const RESOLVED: &str = "a completion was polled after it had resolved";

pub(super) struct InFlight {
    owner: Rc<Owner>,
    slot: Option<NonNull<Slot>>,
}

impl InFlight {
    #[inline(always)]
    pub(super) fn submit<'a>(
        owner: &'a Rc<Owner>,
        task: Task<'a>,
        deadline: Option<Duration>,
    ) -> std::result::Result<InFlight, (DocaError, Task<'a>)> {
        let slot = task.submit(SlotState::Waiting, deadline)?;
        Ok(InFlight { owner: Rc::clone(owner), slot: Some(NonNull::from(slot)) })
    }

    /// The slot. In a forked child this ends the task.
    #[inline]
    fn slot(&self) -> Option<&Slot> {
        // SAFETY: slots live as long as their owner, which this keeps.
        let slot = self.slot.map(|slot| unsafe { slot.as_ref() })?;
        if let Err(why) = self.owner.maker.check() {
            self.owner.end_inherited(slot, why);
        }
        Some(slot)
    }

    #[inline]
    pub(super) fn is_complete(&self) -> bool {
        self.slot().is_none_or(|slot| !slot.is_pending())
    }

    /// Progresses until the task is complete or nothing moves; then `read` takes the result.
    /// # Panics
    /// When the answer was already taken.
    #[inline]
    pub(super) fn poll<T>(
        &mut self,
        cx: &mut TaskContext<'_>,
        read: impl FnOnce(&Context, &Slot) -> T,
    ) -> Poll<T> {
        let slot = self.slot().expect(RESOLVED);
        if self.owner.engine.poll(cx, || !slot.is_pending()) {
            return Poll::Ready(self.take(read));
        }
        self.owner.engine.look_again(cx);
        self.owner.watch(slot, cx);
        Poll::Pending
    }

    /// # Panics
    /// When the task is incomplete or its answer was already taken.
    #[inline]
    pub(super) fn take<T>(&mut self, read: impl FnOnce(&Context, &Slot) -> T) -> T {
        let slot = self.slot.take().expect(RESOLVED);
        // SAFETY: slots live as long as their owner, which this keeps.
        let slot = unsafe { slot.as_ref() };
        read(&self.owner, slot)
    }

    /// Polls for a moment, without a waker; returns whether the task is complete.
    #[inline]
    pub(super) fn spin(&self) -> bool {
        self.slot().is_none_or(|slot| wait::spin(&self.owner.engine, || !slot.is_pending()))
    }

    /// Returns whether the task was still unanswered.
    pub(super) fn cancel(&self) -> bool {
        self.slot().is_some_and(|slot| self.owner.cancel(slot))
    }

    pub(super) fn handle(&self) -> TaskHandle {
        match self.slot() {
            Some(slot) => TaskHandle::new(&self.owner, slot),
            None => TaskHandle::of_nothing(),
        }
    }
}

impl Drop for InFlight {
    #[inline]
    fn drop(&mut self) {
        if let Some(slot) = self.slot() {
            self.owner.abandon(slot);
        }
    }
}

#[inline]
pub(super) fn prepare<'a, C: Request>(
    context: &'a Context,
    plugin: &Plugin,
    command: &C,
) -> Result<Task<'a>> {
    let mut task = Task::allocate(context, plugin)?;
    match command.encode(task.payload()) {
        Ok(length) => task.set_len(length)?,
        Err(error) => {
            return Err(outcome::unencodable(Sent::by::<C>().on(context), error));
        }
    }
    Ok(task)
}

#[inline(always)]
pub(crate) fn submit<C: Request>(
    plugin: &Plugin,
    worker: &Worker,
    command: &C,
    deadline: Option<Duration>,
) -> Result<Completion<C::Reply>> {
    let owner = worker.owner();
    let task = prepare(owner, plugin, command)?;
    match InFlight::submit(owner, task, deadline) {
        Ok(in_flight) => Ok(Completion { in_flight, echo: command.echo(), sent: Sent::by::<C>() }),
        Err((code, _task)) => Err(outcome::rejected(owner, Sent::by::<C>().on(owner), code)),
    }
}

/// A command in flight (`struct doca_urom_worker_cmd_task`): a future of its reply.
///
/// Polling progresses the worker's engine until the reply arrives or nothing moves. Dropping the
/// completion does not cancel the command; its reply is discarded. The completion keeps its worker;
/// if the worker is stopped first, it resolves to an error.
///
/// ```no_run
/// # use urom_host::{Completion, DocaError, Worker, Host, Result};
/// # fn example(graph: &graph_protocol::Client<Host>, worker: &Worker) -> Result<()> {
/// let first = graph.task_loopback(worker, 1).submit()?;
/// let second = graph.task_loopback(worker, 2).submit()?;
/// // Both are in flight; their answers may come in any order.
/// while !second.is_complete() {
///     worker.engine().progress();
/// }
/// let (second, first) = (second.wait()?, first.wait()?);
/// assert_eq!((first.data, second.data), (1, 2));
///
/// let slow = graph.task_loopback(worker, 3).submit()?;
/// slow.cancel();
/// if slow.wait().is_err_and(|error| error.code() == DocaError::SKIPPED) {
///     println!("cancelled");
/// }
/// # Ok(())
/// # }
/// ```
///
/// A reply with payloads keeps its task until they are dropped: they are not copied, the task
/// counts against [`max_inflight`](crate::WorkerBuilder::max_inflight), and the worker cannot be
/// [stopped](Worker::stop) meanwhile. Tasks are reused, so a command needs no heap allocation.
///
/// # Deadlines
/// `deadline` of the generated task or [`WorkerBuilder::timeout`](crate::WorkerBuilder::timeout)
/// sets a deadline, counted from the submission. The future then resolves to `TIME_OUT`, never
/// before that time but at the first check after it. Every progress that moves nothing checks, and
/// every 64th that moves something. Waits of this crate wake up for it, and the engine's [event
/// handle](crate::ProgressEngine) becomes readable. An answer before that check counts. Otherwise
/// the effect equals [`cancel`](Self::cancel).
///
/// # Errors
/// It resolves to an error with the notification's status other than `SUCCESS` (bytes in
/// [`Error::reply`](crate::Error::reply)), with `INVALID_VALUE` when the reply does not match the
/// command, and with the library's code, such as `CONNECTION_RESET`, when the worker has ended.
///
/// # Panics
/// When polled after it has resolved.
///
/// # Threads
/// It belongs to the thread of its worker.
///
/// ```compile_fail,E0277
/// fn assert_send<T: Send>() {}
/// fn check<R: urom_abi::protocol::Reply<Echo: Send> + Send>() {
///     assert_send::<urom_host::Completion<R>>();
/// }
/// ```
#[must_use = "dropping a completion throws the reply away"]
pub struct Completion<R: Reply> {
    pub(super) in_flight: InFlight,
    pub(super) echo: R::Echo,
    pub(super) sent: Sent,
}

impl<R: Reply> Completion<R> {
    /// Waits for the reply, progressing all engines of this thread.
    ///
    /// # Errors
    /// As the future; `BAD_STATE` inside a completion callback unless the reply has arrived.
    ///
    /// # Panics
    /// With the panic of a callback that ran meanwhile.
    pub fn wait(mut self) -> Result<R> {
        if !self.in_flight.is_complete() {
            wait::allowed()?;
            // The usual case: preparing to sleep would cost more than the rest.
            if !self.in_flight.spin() {
                return wait::block_on_after_spin(self);
            }
        }
        let Completion { in_flight, echo, sent } = &mut self;
        in_flight.take(|context, slot| outcome::finish(context, *sent, slot, echo))
    }

    /// Cancels the command: the future resolves to the error `SKIPPED` (`DOCA_ERROR_SKIPPED`).
    /// Returns `false` when the task has already ended.
    ///
    /// DOCA cannot cancel a command. This kit's worker notifies the plugin; the command may still
    /// run, and its task counts against [`max_inflight`](crate::WorkerBuilder::max_inflight) until
    /// the reply arrives, which is discarded and [counted](crate::Worker::late_replies).
    pub fn cancel(&self) -> bool {
        self.in_flight.cancel()
    }

    /// A handle to cancel the task while this future is awaited.
    pub fn handle(&self) -> TaskHandle {
        self.in_flight.handle()
    }

    /// Whether the task has ended. Does not progress anything.
    pub fn is_complete(&self) -> bool {
        self.in_flight.is_complete()
    }
}

impl<R: Reply> Unpin for Completion<R> {}

impl<R: Reply> Future for Completion<R> {
    type Output = Result<R>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let Completion { in_flight, echo, sent } = &mut *self;
        in_flight.poll(cx, |context, slot| outcome::finish(context, *sent, slot, echo))
    }
}

impl<R: Reply> fmt::Debug for Completion<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completion")
            .field("plugin", &self.sent.plugin())
            .field("command", &self.sent.command())
            .field("complete", &self.is_complete())
            .finish()
    }
}
