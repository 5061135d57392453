//! Workers: processes of the service that run plugins.

mod builder;
mod completion;
mod context;
mod health;
mod lifecycle;
mod raw_reply;
mod slots;

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;

pub use builder::WorkerBuilder;
pub(crate) use context::{Context, MemoryUse, Owner, Slot};
pub use health::Health;
pub use raw_reply::RawReply;
pub(crate) use slots::{CALLBACK_ROOM, SlotState, TaskEnd, TaskPayload};

use crate::ServiceHandle;
use crate::engine::ProgressEngine;
use crate::error::Result;
use crate::pending::Pending;

/// A running worker (`struct doca_urom_worker`).
///
/// [`WorkerBuilder::start`] makes one. A plugin's client submits tasks to it. Tasks move while the
/// worker's progress engine is progressed, as futures and waits do.
///
/// ```no_run
/// # use urom_host::{Service, Result};
/// # fn main() -> Result<()> {
/// let service = Service::connect_blocking()?;
/// let graph = service.plugin::<graph_protocol::Protocol>()?;
/// let worker = service.worker().group(1).plugin(&graph).start().wait()?;
/// println!("worker {} of group {}", worker.id(), worker.group()?);
///
/// // As many commands at a time as it takes.
/// let mut answers = Vec::new();
/// for data in 0..u64::from(worker.max_inflight()) {
///     answers.push(graph.task_loopback(&worker, data).submit()?);
/// }
/// println!("{} are in flight", worker.in_flight()?);
/// for answer in answers {
///     answer.wait()?;
/// }
///
/// worker.stop().wait()
/// # }
/// ```
///
/// # Ends
/// When the worker's process dies, every task in flight completes with an error,
/// [`state`](Self::state) is no longer [`ContextState::Running`](crate::ContextState::Running), and
/// [`failure`](Self::failure) returns the reason. [`restart`](Self::restart) starts a new one.
///
/// [`stop`](Self::stop) stops the worker without blocking the thread, and reports errors. Dropping
/// the worker also stops it: its tasks are flushed, and the service releases it. Tasks in flight,
/// payloads of replies and [domains](crate::Domain) keep the worker; the drop of the last
/// [`Completion`](crate::Completion), [`Payload`](urom_abi::Payload) or domain stops it. A worker
/// dropped inside a completion callback is stopped after the callback. The service stays connected
/// while the worker exists.
///
/// The drop waits at most 0.1 s and then leaves the worker to its [engine](ProgressEngine). With a
/// library other than this kit's, it waits up to 10 s.
///
/// A clone is a handle to the same worker: the drop of the last one stops it.
///
/// # Threads
/// The worker belongs to the thread of its progress engine.
#[derive(Clone)]
pub struct Worker {
    owner: Rc<Owner>,
}

impl Worker {
    /// The id (`doca_urom_worker_get_id`), requested or chosen by the service.
    pub fn id(&self) -> u64 {
        self.owner.id.get()
    }

    /// The group (`doca_urom_worker_get_gid`).
    ///
    /// # Errors
    /// The library's errors.
    pub fn group(&self) -> Result<u32> {
        self.owner.group()
    }

    /// The state (`doca_ctx_get_state`).
    ///
    /// # Errors
    /// The library's errors.
    pub fn state(&self) -> Result<crate::ContextState> {
        Ok(self.owner.state()?.into())
    }

    /// The library's reason why the worker left `Running` by itself, if any.
    pub fn failure(&self) -> Option<String> {
        Some(self.owner.failure()).filter(|text| !text.is_empty())
    }

    /// Whether the worker's plugins return from their calls. The worker reports within 6 s a plugin
    /// that does not return, and again when it does. Needs no progress; does not block.
    ///
    /// A plugin that has not returned for 5 s is [`Health::Hung`]. The worker stays
    /// [`ContextState::Running`](crate::ContextState::Running), but its tasks only end at their
    /// deadlines. `uromd --plugin-timeout` ends such a worker, and its tasks with `TIME_OUT`.
    ///
    /// An ended worker or a library without this function (NVIDIA's) gives [`Health::Unknown`].
    pub fn health(&self) -> Health {
        self.owner.health()
    }

    /// The number of submitted, incomplete tasks (`doca_ctx_get_num_inflight_tasks`), including
    /// [cancelled](Self::cancelled) ones.
    ///
    /// # Errors
    /// The library's errors.
    pub fn in_flight(&self) -> Result<usize> {
        self.owner.in_flight()
    }

    /// The number of tasks in flight past their deadline, cancelled or without a completion. They
    /// count against [`max_inflight`](Self::max_inflight) until the worker answers them or ends.
    pub fn cancelled(&self) -> usize {
        self.owner.cancelled().waiting as usize
    }

    /// The former name of [`cancelled`](Self::cancelled).
    #[deprecated(note = "renamed to `cancelled`")]
    pub fn given_up(&self) -> usize {
        self.cancelled()
    }

    /// The number of discarded replies to cancelled tasks and tasks past their deadline, including
    /// refusals and too long replies. Tasks that ended with their worker are not counted.
    pub fn late_replies(&self) -> u64 {
        self.owner.cancelled().late
    }

    /// The number of discarded replies to tasks whose completion had been dropped.
    pub fn dropped_replies(&self) -> u64 {
        self.owner.cancelled().dropped
    }

    /// The most tasks that may be allocated.
    pub fn max_inflight(&self) -> u32 {
        self.owner.settings.max_inflight
    }

    /// The worker's engine.
    pub fn engine(&self) -> &ProgressEngine {
        &self.owner.engine
    }

    /// Stops the worker (`doca_ctx_stop`): tasks in flight end with an error, then the service
    /// releases it. A [`Domain`](crate::Domain) must be stopped before its workers (`IN_USE`).
    ///
    /// Stopping begins at once; the future resolves when the worker is idle. Its tasks' completions
    /// keep their answers, or resolve to an error. The worker is destroyed with the last.
    ///
    /// # Errors
    /// The future resolves to `IN_USE` while payloads of its replies exist, because they are in the
    /// worker's memory. Then the worker only stops when the last payload is dropped.
    pub fn stop(self) -> Pending<()> {
        lifecycle::stop(self.owner)
    }

    /// [`stop`](Self::stop), and blocks until the worker is idle.
    ///
    /// # Errors
    /// As [`stop`](Self::stop); `BAD_STATE` inside a completion callback.
    pub fn stop_blocking(self) -> Result<()> {
        self.stop().wait()
    }

    /// The worker's service.
    pub fn service(&self) -> ServiceHandle {
        ServiceHandle::of(Arc::clone(&self.owner.service))
    }

    /// A value of a dependent crate: one of each type for each worker, dropped with it.
    #[doc(hidden)]
    pub fn attached<T: Default + 'static>(&self) -> Rc<T> {
        let mut attached = self.owner.attached.borrow_mut();
        let known = attached.iter().find_map(|any| Rc::clone(any).downcast::<T>().ok());
        known.unwrap_or_else(|| {
            let new = Rc::<T>::default();
            attached.push(Rc::clone(&new) as Rc<dyn Any>);
            new
        })
    }

    pub(crate) fn owner(&self) -> &Rc<Owner> {
        &self.owner
    }
}

debug_fields!(Worker, |it| { id: it.id(), state: it.state() });
