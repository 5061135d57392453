//! Tasks of contexts without a worker: sync events and memory hints. Submit runs the operation, and
//! the next progress completes the task. Each progress polls the counters of waiting tasks.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::rc::{Rc, Weak};

use urom_abi::DocaError;
use urom_abi::host::{self, CtxState, Data};
use urom_abi::sync_event::Condition;
use urom_memory::{SyncEvent as Counter, Wait};

use crate::buf::AnyBuf;
use crate::failure::refuse_if;
use crate::handle::{ObjectTag, Opaque, as_c, borrow, object, publish, put, withdraw};
use crate::map::logged;
use crate::pe::ctx::Context;
use crate::pe::run::task::{Head, TaskStage};
use crate::pe::tasks::{LocalTaskKind, LocalTasks, OfKind};
use crate::pe::{Other, Pe};

#[repr(C)]
pub(crate) struct LocalTask {
    tag: ObjectTag,
    pub(crate) head: Head,
    me: Weak<LocalTask>,
    /// The context, which goes idle only after this task's release.
    pub(crate) ctx: Rc<Context>,
    pub(crate) kind: LocalTaskKind,
    counter: Option<Counter>,
    /// The number to set, to add, or to wait for.
    pub(crate) value: Cell<u64>,
    pub(crate) mask: Cell<u64>,
    /// The host's pointer for a number, or its buffer.
    pub(crate) target: Cell<*mut c_void>,
    watch: RefCell<Option<Wait>>,
}

object!(LocalTask, Local);

/// Cancels waits. If a task is allocated, the last release makes the context idle.
pub(crate) fn stop(ctx: &Context, tasks: &LocalTasks) -> CtxState {
    if let Ok(pe) = ctx.pe() {
        pe.cancel_waits(ctx, DocaError::SHUTDOWN);
    }
    if tasks.are_released() { CtxState::IDLE } else { CtxState::STOPPING }
}

impl<T: OfKind> Opaque for T {
    type Found<'a> = &'a LocalTask;

    unsafe fn find<'a>(pointer: *const T) -> Result<&'a LocalTask, DocaError> {
        // SAFETY: the caller's promise.
        let task: &LocalTask = unsafe { borrow(pointer) }?;
        if task.kind == T::KIND { Ok(task) } else { Err(DocaError::INVALID_VALUE) }
    }
}

impl LocalTask {
    /// Allocates a task with the arguments of its kind: `(value, mask, target)`.
    pub(crate) fn allocate<T: OfKind>(
        ctx: &Context,
        counter: Option<Counter>,
        user_data: Data,
        (value, mask, target): (u64, u64, *mut c_void),
    ) -> Result<*mut T, DocaError> {
        let (kind, tasks) = (T::KIND, ctx.tasks(T::KIND)?);
        tasks.require_capacity(kind)?;
        let ctx = ctx.handle()?;
        let task = Rc::new_cyclic(|me| LocalTask {
            tag: ObjectTag::of::<LocalTask>(),
            head: Head::new(),
            me: Weak::clone(me),
            ctx,
            kind,
            counter,
            value: Cell::new(value),
            mask: Cell::new(mask),
            target: Cell::new(target),
            watch: RefCell::default(),
        });
        task.head.hold();
        task.head.user_data.set(user_data);
        task.ctx.tasks(kind)?.count(kind, |out| out + 1);
        Ok(publish(task))
    }

    pub(crate) fn release(&self) -> Result<Rc<LocalTask>, DocaError> {
        self.head.is_callers()?;
        // SAFETY: the host returns its reference.
        let task: Rc<LocalTask> = unsafe { withdraw(self.me.as_ptr()) }?;
        let (ctx, tasks) = (&task.ctx, task.ctx.tasks(task.kind)?);
        tasks.count(task.kind, |out| out - 1);
        if ctx.is(CtxState::STOPPING) && tasks.are_released() {
            ctx.pe()?.announce(ctx, CtxState::IDLE);
        }
        Ok(task)
    }

    #[cold]
    pub(crate) fn submit(&self) -> Result<(), DocaError> {
        self.head.is_callers()?;
        self.ctx.require_running()?;
        let task = self.me.upgrade().ok_or(DocaError::INVALID_VALUE)?;
        let (tasks, pe) = (self.ctx.tasks(self.kind)?, self.ctx.pe()?);
        let result = self.run()?;
        self.head.stage.set(TaskStage::InFlight);
        tasks.in_flight.update(|count| count + 1);
        match result {
            Some(result) => task.answer(&pe, result),
            None => pe.wait_for(task),
        }
        Ok(())
    }

    /// Returns the result, or `None` for a pending wait. The outer error is for invalid arguments.
    fn run(&self) -> Result<Option<Result<(), DocaError>>, DocaError> {
        let target = self.target.get().cast::<u64>();
        let Some(counter) = &self.counter else {
            // SAFETY: the host's buffer.
            return match unsafe { host::Buf::find(self.target.get().cast()) }? {
                // Caches are coherent on this machine.
                AnyBuf::OfMap(buf) => buf.element().map(|_| Some(Ok(()))),
                AnyBuf::OfTask(_) => Err(DocaError::NOT_PERMITTED),
            };
        };
        refuse_if(
            matches!(self.kind, LocalTaskKind::Get | LocalTaskKind::NotifyAdd) && target.is_null(),
            DocaError::INVALID_VALUE,
        )?;
        // SAFETY: the host's pointer, valid until the task completes.
        let store = |number| unsafe { put(target, number) };
        Ok(match self.kind {
            LocalTaskKind::Get => Some(store(counter.get())),
            LocalTaskKind::NotifySet => Some(counter.set(self.value.get()).map_err(logged)),
            LocalTaskKind::NotifyAdd => {
                Some(counter.fetch_add(self.value.get()).map_err(logged).and_then(store))
            }
            _ => self.is_met().then_some(Ok(())),
        })
    }

    fn condition(&self) -> Condition {
        let condition = match self.kind {
            LocalTaskKind::WaitNeq => Condition::not_equal,
            _ => Condition::equal,
        };
        condition(self.value.get()).masked(self.mask.get())
    }

    pub(super) fn is_met(&self) -> bool {
        self.counter.as_ref().is_none_or(|counter| self.condition().is_met(counter.get()))
    }

    /// Registers the waker for the counter. Returns whether the condition is already met.
    pub(super) fn watch(&self, waker: &std::task::Waker) -> urom_memory::Result<bool> {
        let Some(counter) = &self.counter else { return Ok(true) };
        let mut watch = self.watch.borrow_mut();
        let wait = watch.get_or_insert_with(|| counter.wait(self.condition()));
        match std::pin::Pin::new(wait).poll(&mut std::task::Context::from_waker(waker)) {
            std::task::Poll::Ready(found) => found.map(|_| true),
            std::task::Poll::Pending => Ok(false),
        }
    }

    pub(super) fn answer(self: Rc<Self>, pe: &Pe, result: Result<(), DocaError>) {
        self.watch.take();
        self.head.status.set(result.into());
        self.head.stage.set(TaskStage::Answered);
        pe.push(Other::Local(self));
    }

    pub(super) fn complete(&self, pe: &Pe) {
        let Ok(tasks) = self.ctx.tasks(self.kind) else { return };
        tasks.in_flight.update(|count| count - 1);
        let callback = tasks.callback(self.kind, self.head.status.get());
        pe.hand_back(&self.head, as_c(self), callback, self.ctx.user_data.get());
    }
}
