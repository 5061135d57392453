//! Workers: processes beside the service that run plugins.

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
pub(crate) use slots::{CALLBACK_ROOM, End, SlotState, TaskPayload};

use crate::ServiceHandle;
use crate::engine::ProgressEngine;
use crate::error::Result;
use crate::pending::Pending;

/// A running worker (`struct doca_urom_worker`).
///
/// [`WorkerBuilder::start`] makes one. Clients of a plugin submit tasks to it. Tasks move while the
/// worker's progress engine is progressed, which futures and waits do.
///
/// ```no_run
/// # use urom_host::{Service, Result};
/// # fn main() -> Result<()> {
/// let service = Service::connect()?;
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
/// [`failure`](Self::failure) says why. [`restart`](Self::restart) starts a new one in its place.
///
/// [`stop`](Self::stop) stops the worker without blocking the thread, and reports what goes wrong.
/// Dropping the worker stops it, too: its tasks are flushed, and the service lets it go. Tasks in
/// flight, payloads of replies and [domains](crate::Domain) keep the worker; the last
/// [`Completion`](crate::Completion), [`Payload`](urom_abi::Payload) or domain stops it when it is
/// dropped. A worker that is dropped inside a completion callback is stopped when that returns. The
/// service stays connected for as long as the worker exists.
///
/// The drop waits for at most a tenth of a second and then leaves the worker to its
/// [engine](ProgressEngine). With another library than this kit's, it waits for up to ten seconds.
///
/// A clone is a second handle of the same worker: the drop of the last one stops it.
///
/// # Threads
/// The worker belongs to the thread of its progress engine.
#[derive(Clone)]
pub struct Worker {
    owner: Rc<Owner>,
}

impl Worker {
    /// The id (`doca_urom_worker_get_id`): the one asked for, or the one the service chose.
    pub fn id(&self) -> u64 {
        self.owner.id.get()
    }

    /// The group (`doca_urom_worker_get_gid`).
    ///
    /// # Errors
    /// Whatever the library says.
    pub fn group(&self) -> Result<u32> {
        self.owner.group()
    }

    /// The state (`doca_ctx_get_state`).
    ///
    /// # Errors
    /// Whatever the library says.
    pub fn state(&self) -> Result<crate::ContextState> {
        Ok(self.owner.state()?.into())
    }

    /// Why the worker left `Running` by itself, in the library's words; `None` when it did not, or
    /// when the library has no words for it.
    pub fn failure(&self) -> Option<String> {
        Some(self.owner.failure()).filter(|text| !text.is_empty())
    }

    /// Whether the worker's plugins return from their calls, as far as the worker has said. It
    /// reports a plugin that does not return within 6 s, and reports again when it returns. The
    /// call needs no progress and does not block.
    ///
    /// A plugin that has not returned for 5 s is [`Health::Stuck`]. The worker is still
    /// [`ContextState::Running`](crate::ContextState::Running) then, and its tasks end at their
    /// deadlines only, unless the service was started with `uromd --plugin-timeout`: it ends such a
    /// worker, and its tasks with `TIME_OUT`.
    ///
    /// A worker that is gone, or a library that cannot tell, such as NVIDIA's, gives
    /// [`Health::Unknown`].
    pub fn health(&self) -> Health {
        self.owner.health()
    }

    /// How many tasks are submitted and not complete (`doca_ctx_get_num_inflight_tasks`), those
    /// included that were [given up](Self::given_up).
    ///
    /// # Errors
    /// Whatever the library says.
    pub fn in_flight(&self) -> Result<usize> {
        self.owner.in_flight()
    }

    /// How many tasks are in flight whose replies will be thrown away: they passed their deadline,
    /// were cancelled, or their completion was dropped. They count against
    /// [`max_inflight`](Self::max_inflight) until the worker answers them or is gone.
    pub fn given_up(&self) -> usize {
        self.owner.given_up().waiting as usize
    }

    /// How many replies came to tasks that had passed their deadline or were cancelled, refusals
    /// and replies that are too long included, and were thrown away. Tasks that ended with their
    /// worker are not counted.
    pub fn late_replies(&self) -> u64 {
        self.owner.given_up().late
    }

    /// How many replies came to tasks whose completion had been dropped before, as an executor's
    /// own timeout does it, and were thrown away.
    pub fn dropped_replies(&self) -> u64 {
        self.owner.given_up().dropped
    }

    /// How many tasks may be allocated at a time.
    pub fn max_inflight(&self) -> u32 {
        self.owner.settings.max_inflight
    }

    /// The engine it is connected to.
    pub fn engine(&self) -> &ProgressEngine {
        &self.owner.engine
    }

    /// Stops the worker (`doca_ctx_stop`): tasks in flight end with an error, then the service lets
    /// it go.
    ///
    /// A worker that is in a [`Domain`](crate::Domain) cannot be stopped before that (`IN_USE`).
    ///
    /// Stopping begins at once; the future resolves when the worker is idle. Completions of its
    /// tasks that are still around keep the answers they have, or resolve to an error. The worker
    /// is destroyed with the last of them.
    ///
    /// # Errors
    /// The future resolves to `IN_USE` when payloads of its replies are still held, whose memory is
    /// the worker's. Nothing is stopped then; the worker stops when the last of them is dropped.
    pub fn stop(self) -> Pending<()> {
        lifecycle::stop(self.owner)
    }

    /// The service that it was started on.
    pub fn service(&self) -> ServiceHandle {
        ServiceHandle::of(Arc::clone(&self.owner.service))
    }

    /// A value of a crate that builds upon this one: one of each type for each worker. It is
    /// dropped with the worker.
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
