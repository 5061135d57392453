//! The plugin's view of its worker: domains and the services beyond DOCA's interface.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::ptr::NonNull;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::{Duration, Instant};

use urom_abi::descriptor::CommandDesc;
use urom_abi::extension::{Words, WorkerServices};
use urom_abi::plugin::WorkerCtx;
use urom_os::clock::monotonic;

use crate::bell::Bell;
use crate::memory::MemoryServices;
use crate::per_host::HostLeft;
use crate::trace::TracedCommand;
use crate::{DomainHandle, Tasks, log, time};

thread_local! {
    static ATTACHED: Cell<Option<(NonNull<WorkerCtx>, WorkerServices)>> = const { Cell::new(None) };
}

/// # Safety
/// `services` is NULL or from a worker of any release, and stays valid as `AttachFn` requires.
pub(crate) unsafe fn attach(ctx: NonNull<WorkerCtx>, services: *const WorkerServices) {
    // SAFETY: the services begin with their size, as `AttachFn` requires.
    let services = unsafe { WorkerServices::read(services) };
    // SAFETY: a worker's log is valid until the process ends.
    unsafe { log::to_worker(services.log) };
    // A thread that ends opens no plugin.
    let _ = ATTACHED.try_with(|attached| attached.set(Some((ctx, services))));
}

pub(crate) struct WorkerSide {
    pub(crate) domains: DomainHandle,
    ctx: NonNull<WorkerCtx>,
    services: WorkerServices,
    memory: Rc<MemoryServices>,
    bell: Arc<Bell>,
    tasks: Tasks,
    /// Tables whose values are dropped when their hosts leave.
    leaving: RefCell<Vec<Weak<dyn HostLeft>>>,
    answer_buffer: Cell<Option<NonNull<[u8]>>>,
    written: Cell<usize>,
}

impl WorkerSide {
    /// For the context that is opened now; `None` without `attach`.
    pub(crate) fn new(ctx: NonNull<WorkerCtx>, domains: DomainHandle) -> WorkerSide {
        let attached = ATTACHED.try_with(Cell::take).ok().flatten();
        let services = attached.filter(|(of, _)| *of == ctx).map(|(_, services)| services);
        let services = services.unwrap_or(WorkerServices::NONE);
        let memory = Rc::new(MemoryServices::new(ctx, services));
        let bell = Arc::new(Bell::open());
        let tasks = Tasks::new(&bell);
        let (leaving, answer_buffer, written) = (RefCell::default(), Cell::new(None), Cell::new(0));
        WorkerSide { domains, ctx, services, memory, bell, tasks, leaving, answer_buffer, written }
    }

    pub(crate) fn on_host_left(&self, table: Weak<dyn HostLeft>) {
        self.leaving.borrow_mut().push(table);
    }

    pub(crate) fn host_left(&self, dest_id: u64) {
        let mut leaving = self.leaving.borrow_mut();
        leaving.retain(|table| table.strong_count() > 0);
        let tables: Vec<_> = leaving.iter().filter_map(Weak::upgrade).collect();
        drop(leaving);
        tables.iter().for_each(|table| table.host_left(dest_id.into()));
    }

    fn stated<T>(&self, of: impl FnOnce(&WorkerServices) -> T) -> Option<T> {
        (self.services.message_limit != 0).then(|| of(&self.services))
    }

    pub(crate) fn worker_id(&self) -> Option<u64> {
        self.stated(|services| services.worker_id)
    }

    pub(crate) fn group_id(&self) -> Option<u64> {
        self.stated(|services| services.group_id)
    }

    pub(crate) fn message_limit(&self) -> Option<usize> {
        self.stated(|services| services.message_limit)
    }

    pub(crate) fn connection_limit(&self, dest_id: u64) -> Option<usize> {
        let limit = self.services.connection_limit?;
        // SAFETY: the worker's function, with the context of its `attach`.
        Some(unsafe { limit(self.ctx.as_ptr(), dest_id) }).filter(|limit| *limit != 0)
    }

    pub(crate) fn deadline(&self, command: &CommandDesc) -> Option<Instant> {
        let (token, deadline) = (command.header().urom_context, self.services.deadline?);
        // SAFETY: the worker's function, with the context of its `attach`.
        let at = unsafe { deadline(self.ctx.as_ptr(), command.dest_id(), token) };
        let now = monotonic();
        let ahead = Duration::from_nanos(at.saturating_sub(now));
        let behind = Duration::from_nanos(now.saturating_sub(at));
        (at != 0).then_some(())?;
        time::now().checked_add(ahead)?.checked_sub(behind)
    }

    pub(crate) fn explains(&self) -> bool {
        self.services.explain.is_some()
    }

    pub(crate) fn explain(&self, command: &CommandDesc, text: &str) {
        let Some(explain) = self.services.explain else { return };
        let (token, text) = (command.header().urom_context, text.as_bytes());
        // SAFETY: the worker's function, with its context and a text that outlives the call.
        unsafe {
            explain(self.ctx.as_ptr(), command.dest_id(), token, text.as_ptr().cast(), text.len());
        }
    }

    pub(crate) fn enter_span(&self, command: &TracedCommand, name: &str) {
        let Some(enter) = self.services.enter_span else { return };
        let &TracedCommand { dest_id, token, .. } = command;
        // SAFETY: the worker's function, with its context and a text that outlives the call.
        unsafe { enter(self.ctx.as_ptr(), dest_id, token, name.as_ptr().cast(), name.len()) };
    }

    pub(crate) fn leave_span(&self, command: &TracedCommand) {
        let Some(leave) = self.services.leave_span else { return };
        // SAFETY: the worker's function, with the context of its `attach`.
        unsafe { leave(self.ctx.as_ptr(), command.dest_id, command.token) };
    }

    pub(crate) fn memory(&self) -> &Rc<MemoryServices> {
        &self.memory
    }

    pub(crate) fn bell(&self) -> &Arc<Bell> {
        &self.bell
    }

    pub(crate) fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    #[inline]
    pub(crate) fn moved(&self) {
        if let Some(moved) = self.services.moved {
            // SAFETY: the worker's function, with the context of its `attach`.
            unsafe { moved(self.ctx.as_ptr()) };
        }
    }

    #[inline]
    pub(crate) fn set_answer_buffer(&self, buffer: Option<NonNull<[u8]>>) {
        self.answer_buffer.set(buffer);
    }

    #[inline]
    pub(crate) fn written(&self) -> &Cell<usize> {
        &self.written
    }

    #[inline]
    pub(crate) fn take_answer_buffer(&self) -> Option<NonNull<[u8]>> {
        self.answer_buffer.take()
    }
}

impl Drop for WorkerSide {
    fn drop(&mut self) {
        self.memory.close_all();
    }
}

impl fmt::Debug for WorkerSide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerSide").field("services", &self.services).finish_non_exhaustive()
    }
}
