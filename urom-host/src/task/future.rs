//! A task as a future.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll, Waker};

use urom_abi::DocaError;
use urom_abi::host::Data;
use urom_abi::protocol::{Protocol, Reply, Request};

use crate::error::Result;
use crate::plugin::Plugin;
use crate::task::{Response, Task, outcome};
use crate::wait;
use crate::worker::{Context, Owner, Worker, on_complete};

/// A future's hold on its task: the slot that the completion fills.
pub(super) struct Ticket {
    owner: Rc<Owner>,
    /// `None` once the answer was taken.
    slot: Option<u32>,
}

impl Ticket {
    /// Submits a task that is filled; after an error the task is back.
    pub(super) fn submit<'a>(
        owner: &Rc<Owner>,
        task: Task<'a>,
    ) -> std::result::Result<Ticket, (DocaError, Task<'a>)> {
        let slot = owner.slots.borrow_mut().insert();
        match task.submit(on_complete, Data { u64: slot.into() }) {
            Ok(()) => Ok(Ticket { owner: Rc::clone(owner), slot: Some(slot) }),
            Err(back) => {
                owner.slots.borrow_mut().remove(slot);
                Err(back)
            }
        }
    }

    pub(super) fn is_complete(&self) -> bool {
        self.slot.is_none_or(|slot| self.owner.is_complete(slot))
    }

    /// Progresses until the task is complete or nothing moves; in the first case, `read` gets what it ended with.
    ///
    /// # Panics
    /// When the answer was taken before.
    pub(super) fn poll<T>(
        &mut self,
        cx: &mut TaskContext<'_>,
        read: impl FnOnce(&Context, Response<'_>) -> T,
    ) -> Poll<T> {
        let Some(slot) = self.slot else { panic!("a completion was polled after it had resolved") };
        while !self.owner.is_complete(slot) {
            if !self.owner.engine.progress() {
                self.owner.watch(slot, cx);
                return Poll::Pending;
            }
        }
        self.slot = None;
        Poll::Ready(read(&self.owner, self.owner.take(slot)))
    }

    /// Polls for a moment, without the cost of a waker.
    pub(super) fn spin(&self) {
        wait::spin(&self.owner.engine, || self.is_complete());
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            self.owner.abandon(slot);
        }
    }
}

/// Encodes a command straight into a new task.
pub(super) fn prepare<'a, C: Request>(
    context: &'a Context,
    plugin: &Plugin,
    command: &C,
) -> Result<Task<'a>> {
    let mut task = Task::allocate(context, plugin)?;
    let length =
        command.encode(task.payload()?).map_err(|error| outcome::unencodable::<C>(context, error))?;
    task.set_len(length)?;
    Ok(task)
}

/// Submits a command whose answer a future waits for.
pub(crate) fn submit<C: Request>(
    plugin: &Plugin,
    worker: &Worker,
    command: &C,
) -> Result<Completion<C::Kind>> {
    let owner = worker.owner();
    let task = prepare(owner, plugin, command)?;
    let ticket = Ticket::submit(owner, task)
        .map_err(|(code, _task)| outcome::rejected(owner, outcome::describe::<C>(owner), code))?;
    Ok(Completion { ticket, echo: command.echo() })
}

/// A command in flight (`struct doca_urom_worker_cmd_task`): a future of its reply.
///
/// Polling progresses the worker's engine until the reply is there or nothing moves. Dropping it lets the command go on
/// and throws its reply away. It keeps its worker alive; when the worker is stopped first, it resolves to an error.
///
/// A reply with payloads keeps its task until they are dropped: no byte of them is copied, the task counts against
/// [`max_inflight`](crate::WorkerBuilder::max_inflight), and the worker cannot be [stopped](Worker::stop) meanwhile.
///
/// ```no_run
/// # use urom_host::{Completion, Worker, Host, Result};
/// # fn example(graph: &graph_protocol::Client<Host>, worker: &Worker) -> Result<()> {
/// let first = graph.task_loopback(worker, 1).submit()?;
/// let second = graph.task_loopback(worker, 2).submit()?;
/// // Both are under way; their answers may come in any order.
/// let (second, first) = (second.wait()?, first.wait()?);
/// assert_eq!((first.data, second.data), (1, 2));
/// # Ok(())
/// # }
/// ```
///
/// It costs no heap allocation: the task is the library's, and its place among the worker's tasks is used again.
///
/// # Errors
/// It resolves to an error with the notification's status when that is not `SUCCESS` ([`Error::reply`](crate::Error::reply) then has its
/// bytes), with `INVALID_VALUE` when the reply does not read as this command's, and with the library's code, such as
/// `CONNECTION_RESET`, when the worker is gone.
///
/// # Threads
/// It belongs to the thread of its worker.
///
/// ```compile_fail,E0277
/// fn assert_send<T: Send>() {}
/// fn check<C: urom_abi::protocol::Request>() where C: Send, <C::Reply as urom_abi::protocol::Reply>::Echo: Send {
///     assert_send::<urom_host::Completion<C>>();
/// }
/// ```
#[must_use = "dropping a completion throws the reply away"]
pub struct Completion<C: Request> {
    ticket: Ticket,
    echo: <C::Reply as Reply>::Echo,
}

impl<C: Request> Completion<C> {
    /// Waits for the reply, progressing all engines of this thread.
    ///
    /// # Errors
    /// As the future; `BAD_STATE` inside a completion callback, where nothing can move.
    ///
    /// # Panics
    /// With the panic of a callback that ran meanwhile.
    pub fn wait(mut self) -> Result<C::Reply> {
        wait::allowed()?;
        self.ticket.spin();
        if self.is_complete() {
            // The usual case: what a sleeping wait needs would cost more than the rest.
            let mut context = TaskContext::from_waker(Waker::noop());
            if let Poll::Ready(reply) = Pin::new(&mut self).poll(&mut context) {
                return reply;
            }
        }
        wait::block_on(self)
    }

    /// Whether the reply is there, without progressing anything.
    ///
    /// ```no_run
    /// # use urom_host::{Worker, Host, Result};
    /// # fn example(graph: &graph_protocol::Client<Host>, worker: &Worker) -> Result<()> {
    /// let answer = graph.task_loopback(worker, 1).submit()?;
    /// while !answer.is_complete() {
    ///     worker.engine().progress();
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_complete(&self) -> bool {
        self.ticket.is_complete()
    }
}

// Nothing in it is ever pinned.
impl<C: Request> Unpin for Completion<C> {}

impl<C: Request> Future for Completion<C> {
    type Output = Result<C::Reply>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let Completion { ticket, echo } = &mut *self;
        ticket.poll(cx, |context, response| outcome::read::<C>(context, echo, response))
    }
}

impl<C: Request> fmt::Debug for Completion<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completion")
            .field("plugin", &<C::Protocol as Protocol>::NAME)
            .field("command", &outcome::command::<C>())
            .field("complete", &self.is_complete())
            .finish()
    }
}
