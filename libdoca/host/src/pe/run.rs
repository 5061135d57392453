//! One run of a worker context, from its start to the next idle: connection and tasks.

pub(crate) mod answers;
mod connect;
mod link;
mod ring_link;
pub(crate) mod task;
pub(crate) mod task_table;
mod traced;
mod ucx_link;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::mpsc;
use ucx::Status;
use urom_abi::extension::CancelReason;
use urom_abi::host::CtxState;
use urom_abi::{DocaError, WorkerId};
use urom_wire::control::{Failure, PluginAddress};
use urom_wire::frame::{COMMAND_HEADER, CommandStart};

use crate::event::AttachedWorker;
use crate::failure::{failure, refuse_if};
use crate::pe::Pe;
use crate::pe::ctx::Context;
use crate::pe::run::link::{FrameLink, LinkBroken};
use crate::pe::run::ring_link::RingLink;
use crate::pe::run::task::queue::TaskQueue;
use crate::pe::run::task::{CmdTaskRef, TaskStage};
use crate::pe::run::task_table::TaskTable;
use crate::pe::run::traced::Gate;
use crate::running::WorkerSlot;
use crate::sharing::{LateCallbacks, ShareCallback};
use crate::trace::CommandSpan;
use crate::worker_link::{HealthReport, WorkerOrder};

pub(crate) struct WorkerRun {
    me: Weak<WorkerRun>,
    // Both also refer to the run: the engine by its channel until the run's end, the context until
    // its next start or the worker's end.
    pub(crate) ctx: Rc<Context>,
    pe: Rc<Pe>,
    pub(crate) channel: u16,
    plugins: u64,
    /// Counts against the service's limit.
    worker_slot: RefCell<Option<WorkerSlot>>,
    /// Orders to the stream's task. Dropping it leaves the worker.
    orders: RefCell<Option<mpsc::UnboundedSender<WorkerOrder>>>,
    /// Callbacks for the time when the worker has released this program's memory.
    pub(crate) late: Arc<LateCallbacks>,
    pub(crate) health: Arc<HealthReport>,
    /// Maximum payload of an answer, once connected.
    longest: Cell<usize>,
    /// The worker's acceptance, once connected.
    attached: OnceCell<AttachedWorker>,
    handshake_done: Cell<bool>,
    pub(crate) gate: Cell<Gate>,
    /// Sampled commands in flight, by slot.
    spans: RefCell<HashMap<u16, CommandSpan>>,
    /// Ending: only host-visible events and unreleased tasks remain.
    leaving: Cell<bool>,
    stream_over: Cell<bool>,
    pub(crate) tasks: TaskTable,
    link: OnceCell<FrameLink>,
    /// Why UCX cannot connect to the worker.
    unreachable: RefCell<Option<Failure>>,
    /// Answered tasks; UCX still reads the payload of the first.
    parked: TaskQueue,
    broken: Cell<Option<LinkBroken>>,
    tended: Cell<bool>,
}

/// A plugin of a run's worker, by the bit of its id.
#[derive(Clone, Copy)]
pub(crate) struct PluginBit(pub(crate) u8);

impl WorkerRun {
    pub(crate) fn new(
        plugins: u64,
        max_inflight: usize,
        ctx: Rc<Context>,
        pe: Rc<Pe>,
        channel: u16,
        worker_slot: Option<WorkerSlot>,
        orders: mpsc::UnboundedSender<WorkerOrder>,
    ) -> Rc<WorkerRun> {
        Rc::new_cyclic(|me| WorkerRun {
            me: Weak::clone(me),
            ctx,
            pe,
            channel,
            plugins,
            worker_slot: RefCell::new(worker_slot),
            orders: RefCell::new(Some(orders)),
            late: Arc::default(),
            health: Arc::default(),
            longest: Cell::new(0),
            attached: OnceCell::new(),
            handshake_done: Cell::new(false),
            gate: Cell::new(Gate::Closed(DocaError::BAD_STATE)),
            spans: RefCell::default(),
            leaving: Cell::new(false),
            stream_over: Cell::new(false),
            tasks: TaskTable::new(max_inflight),
            link: OnceCell::new(),
            unreachable: RefCell::default(),
            parked: TaskQueue::default(),
            broken: Cell::new(None),
            tended: Cell::new(false),
        })
    }

    pub(crate) fn id(&self) -> u64 {
        self.attached.get().map_or(0, |attached| attached.id)
    }

    pub(crate) fn plugin_addresses(&self) -> &[PluginAddress] {
        self.attached.get().map_or(&[], |attached| &attached.plugins)
    }

    /// Ends the share of a memory by the stream's task, or waits for the end of all shares.
    pub(crate) fn unshare(&self, memory: u64, callback: ShareCallback) {
        let after = self.tasks.submitted_count();
        let order = WorkerOrder::Unshare { memory, after, callback };
        let unsent = match &*self.orders.borrow() {
            Some(orders) => orders.send(order).err().map(|error| error.0),
            None => Some(order),
        };
        if let Some(WorkerOrder::Unshare { callback, .. }) = unsent {
            self.late.keep(callback);
        }
    }

    /// Sends an order to the stream's task. Dropped if the worker is left or lost.
    pub(crate) fn order(&self, order: WorkerOrder) {
        // Ignores the error, which drops the order.
        let _ = self.orders.borrow().as_ref().map(|orders| orders.send(order));
    }

    #[inline]
    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving.get()
    }

    #[cold]
    fn on_broken(&self, broken: LinkBroken) {
        self.broken.set(Some(broken));
        self.tend_later(&self.pe);
    }

    pub(crate) fn on_ended(&self, pe: &Pe, reason: Option<Failure>) {
        self.stream_over.set(true);
        if let Some(failure) = reason
            && !self.leaving.get()
        {
            // The worker's last messages are still valid.
            pe.drain();
            self.lose(pe, &failure);
        }
        self.check_over(pe);
    }

    pub(crate) fn lose(&self, pe: &Pe, reason: &Failure) {
        if self.leaving.get() {
            return;
        }
        let code = self.ctx.fail(reason);
        if self.ctx.is(CtxState::RUNNING) {
            pe.announce(&self.ctx, CtxState::STOPPING);
        }
        self.leave(pe, code, code, false);
        self.check_over(pe);
    }

    pub(crate) fn stop(&self, pe: &Pe) {
        self.leave(pe, DocaError::BAD_STATE, DocaError::SHUTDOWN, true);
        self.check_over(pe);
    }

    /// Completes all tasks in flight with `flushed`, and leaves the worker.
    fn leave(&self, pe: &Pe, refusal: DocaError, flushed: DocaError, gracefully: bool) {
        self.leaving.set(true);
        self.gate.set(Gate::Closed(refusal));
        self.write_spans(flushed);
        if let Some(link) = self.link.get() {
            link.close(gracefully);
        }
        pe.remove_ring(self);
        while let Some(task) = self.parked.pop() {
            pe.push_command(task);
        }
        for task in self.tasks.flush(flushed) {
            pe.push_command(task);
        }
        // The stream's task then leaves the worker.
        drop(self.orders.take());
    }

    /// Stops counting against the service's limit. False while the host has tasks.
    pub(crate) fn release_slot(&self) -> bool {
        if let (true, Some(slot)) = (self.tasks.is_over(), &mut *self.worker_slot.borrow_mut()) {
            slot.release();
        }
        self.tasks.is_over()
    }

    /// Releases the service when the context is idle, even if references to this run remain.
    pub(crate) fn finish(&self) {
        drop(self.worker_slot.take());
    }

    pub(crate) fn check_over(&self, pe: &Pe) {
        if !self.leaving.get() || !self.stream_over.get() {
            return;
        }
        if !self.tasks.is_over() {
            return self.tasks.report_unreleased(WorkerId(self.id()));
        }
        pe.announce(&self.ctx, CtxState::IDLE);
    }

    #[inline]
    fn is_busy(&self) -> bool {
        self.link.get().is_some_and(FrameLink::is_busy)
    }

    #[inline]
    fn tend_if_busy(&self) {
        if self.is_busy() && !self.tended.get() {
            self.tend_later(&self.pe);
        }
    }

    #[cold]
    fn tend_later(&self, pe: &Pe) {
        if !self.tended.replace(true)
            && let Some(me) = self.me.upgrade()
        {
            pe.tend(me);
        }
    }

    /// Sends queued frames, collects finished sends, and handles a broken endpoint.
    pub(crate) fn tend(&self, pe: &Pe) {
        self.tended.set(false);
        if let Some(broken) = self.broken.take() {
            pe.drain();
            self.lose(pe, &self.why_broken(broken));
        }
        if self.leaving.get() {
            return;
        }
        self.tend_link();
        self.unpark(pe);
        if self.is_broken() || self.is_busy() {
            self.tend_later(pe);
        }
    }

    fn tend_link(&self) {
        // Queued frames may now be written.
        self.pe.wrote();
        if let Some(Err(status)) = self.link.get().map(FrameLink::tend) {
            self.broken.set(Some(LinkBroken::Ucx(status)));
        }
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.broken.get().is_some()
    }

    fn why_broken(&self, broken: LinkBroken) -> Failure {
        let id = WorkerId(self.id());
        match broken {
            LinkBroken::Ring(garbage) => failure!(
                IO_FAILED,
                "worker {id} was lost: it wrote into the ring: {garbage}; start it again"
            ),
            LinkBroken::Ucx(status) => {
                let code = if status == Status::ENDPOINT_TIMEOUT {
                    DocaError::TIME_OUT
                } else {
                    DocaError::CONNECTION_RESET
                };
                failure!(
                    code = code,
                    "worker {id} was lost: UCX says {}; start it again",
                    status.with_variables()
                )
            }
        }
    }

    #[inline]
    pub(crate) fn allocate(&self, plugin: Option<PluginBit>) -> Result<CmdTaskRef, DocaError> {
        let task = self.tasks.allocate(|slot| self.make_task(slot));
        let Some(task) = task else { return Err(self.tasks.full(WorkerId(self.id()))) };
        let start = plugin.zip(task.slot.get());
        task.hold(start.map(|(PluginBit(bit), slot)| CommandStart::new(slot, bit)));
        Ok(task)
    }

    #[cold]
    fn make_task(&self, slot: u16) -> Option<CmdTaskRef> {
        let task = CmdTaskRef::new(slot, self.attached.get()?.max_message - COMMAND_HEADER)?;
        // SAFETY: the table owns the task from now on, and ends it when it is dropped with this
        // run.
        unsafe { task.join(self) };
        Some(task)
    }

    #[inline]
    pub(crate) fn release(&self, task: CmdTaskRef) {
        self.tasks.release(task);
        if self.leaving.get() {
            self.check_over(&self.pe);
        }
    }

    #[inline]
    pub(crate) fn plugin(&self, id: u64) -> Option<PluginBit> {
        let is_one = id & id.wrapping_sub(1) == 0 && id & self.plugins != 0;
        is_one.then(|| PluginBit(id.trailing_zeros() as u8))
    }

    /// Sends a command. After an error the caller still owns the task.
    #[inline]
    pub(crate) fn submit(&self, task: CmdTaskRef) -> Result<(), DocaError> {
        if self.gate.get() != Gate::Open {
            return self.submit_at_gate(task);
        }
        self.send(task, None)
    }

    /// Sends a command, with the trace context of its span if it has one.
    #[inline(always)]
    fn send(&self, task: CmdTaskRef, span: Option<CommandSpan>) -> Result<(), DocaError> {
        task.payload.check()?;
        let start = task.start.get().ok_or(DocaError::INVALID_VALUE)?;
        let link = self.link.get().ok_or(DocaError::BAD_STATE)?;
        task.begin();
        let before = task.head.stage.replace(TaskStage::InFlight);
        let sent = match (span, link) {
            (Some(span), link) => {
                self.sampled(&task, span);
                let header = start.header_with_trace(task.payload.len());
                link.send(header, traced::body_of(&task, &span))
            }
            (None, FrameLink::Ring(ring)) => {
                ring.submit(task, task.header(start));
                Ok(())
            }
            (None, FrameLink::Ucx(ucx)) => {
                ucx.submit(task, task.header(start), self.tasks.is_alone())
            }
        };
        if let Err(status) = sent {
            task.head.stage.set(before);
            self.on_broken(LinkBroken::Ucx(status));
            return Err(DocaError::CONNECTION_RESET);
        }
        self.tasks.submitted(&task);
        if task.left.get() != 0 {
            task.deadline.set(self.pe.deadline_in(task.left.get()));
        }
        self.pe.wrote();
        self.tend_if_busy();
        Ok(())
    }

    pub(crate) fn flush(&self) {
        if self.leaving.get() {
            return;
        }
        self.tend_link();
        self.announce();
        if self.is_broken() {
            self.tend_later(&self.pe);
        }
        self.tend_if_busy();
    }

    /// Cancels a command in flight. The next progress completes it with `SKIPPED`.
    pub(crate) fn cancel(&self, task: CmdTaskRef) -> Result<(), DocaError> {
        self.cancel_command(task, CancelReason::CANCELLED, false)?;
        self.pe.push_first(task);
        Ok(())
    }

    /// Cancels a command in flight and releases its task without completion.
    pub(crate) fn forget(&self, task: CmdTaskRef) -> Result<(), DocaError> {
        refuse_if(task.head.in_graph.get(), DocaError::BAD_STATE)?;
        self.cancel_command(task, CancelReason::CANCELLED, true)?;
        self.release(task);
        Ok(())
    }

    /// Ends overdue commands. Returns the next deadline.
    pub(crate) fn expire(&self, pe: &Pe, now: Instant) -> Option<Instant> {
        let (overdue, next) = self.tasks.overdue(now);
        for task in overdue {
            if self.cancel_command(task, CancelReason::TIMED_OUT, false).is_ok() {
                pe.push_command(task);
            }
        }
        next
    }

    fn cancel_command(
        &self,
        task: CmdTaskRef,
        reason: CancelReason,
        is_dropped: bool,
    ) -> Result<(), DocaError> {
        let start = task.start.get().filter(|_| task.head.stage.get() == TaskStage::InFlight);
        let start = start.ok_or(DocaError::BAD_STATE)?;
        if let Some(Err(status)) =
            self.link.get().map(|link| link.cancel(task, start.cancel(reason.0)))
        {
            self.on_broken(LinkBroken::Ucx(status));
        }
        self.pe.wrote();
        let code = match reason {
            CancelReason::TIMED_OUT => DocaError::TIME_OUT,
            _ => DocaError::SKIPPED,
        };
        if let Some(slot) = task.slot.get() {
            self.write_span(slot, code.into(), None);
        }
        self.tasks.cancel(task, code, is_dropped);
        self.tend_if_busy();
        Ok(())
    }

    /// Wakes a worker that went to sleep before it saw the last commands in the ring.
    pub(crate) fn announce(&self) {
        if let Some(ring) = self.link.get().and_then(FrameLink::ring) {
            ring.announce();
        }
    }

    pub(crate) fn sleep(&self) -> bool {
        self.link.get().and_then(FrameLink::ring).is_none_or(RingLink::sleep)
    }

    pub(crate) fn wake(&self) {
        if let Some(ring) = self.link.get().and_then(FrameLink::ring) {
            ring.wake();
        }
    }

    /// Completes the parked tasks after UCX has read their payloads, in order of response.
    fn unpark(&self, pe: &Pe) {
        while self.parked.first().is_some_and(|task| !task.sending.get()) {
            self.parked.pop().into_iter().for_each(|task| pe.push_command(task));
        }
    }
}
