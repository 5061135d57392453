//! Tasks of contexts without a worker: of sync events, and hints about memory.
//!
//! Submit carries the operation out, and the next progress completes the task. A task that waits
//! for a counter stays with the engine, which looks at the counter in every progress.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::rc::{Rc, Weak};

use urom_abi::DocaError;
use urom_abi::host::{
    self, CtxState, Data, MmapAdviseTaskInvalidateCache, SyncEventTaskGet, SyncEventTaskNotifyAdd,
    SyncEventTaskNotifySet, SyncEventTaskWaitEq, SyncEventTaskWaitNeq, TaskCallback,
};
use urom_abi::sync_event::Condition;
use urom_memory::{SyncEvent as Counter, Wait};
use urom_wire::control::Failure;

use crate::buf::AnyBuf;
use crate::failure::failure;
use crate::handle::{Opaque, Tag, as_c, borrow, object, publish, put, withdraw};
use crate::map::told;
use crate::pe::ctx::Context;
use crate::pe::run::task::{Head, Stage};
use crate::pe::{Other, Pe};

/// The operation of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocalTaskKind {
    Get,
    NotifySet,
    NotifyAdd,
    WaitEq,
    WaitNeq,
    InvalidateCache,
}

const KINDS: usize = 6;

impl LocalTaskKind {
    /// The beginning of the names of its C functions.
    fn prefix(self) -> &'static str {
        match self {
            LocalTaskKind::Get => "doca_sync_event_task_get",
            LocalTaskKind::NotifySet => "doca_sync_event_task_notify_set",
            LocalTaskKind::NotifyAdd => "doca_sync_event_task_notify_add",
            LocalTaskKind::WaitEq => "doca_sync_event_task_wait_eq",
            LocalTaskKind::WaitNeq => "doca_sync_event_task_wait_neq",
            LocalTaskKind::InvalidateCache => "doca_mmap_advise_task_invalidate_cache",
        }
    }
}

/// A structure of C that stands for tasks of one kind.
pub(crate) trait OfKind {
    const KIND: LocalTaskKind;
}

macro_rules! of_kind {
    ($($object:ident: $kind:ident;)*) => {$(
        impl OfKind for $object {
            const KIND: LocalTaskKind = LocalTaskKind::$kind;
        }
    )*};
}

of_kind! {
    SyncEventTaskGet: Get;
    SyncEventTaskNotifySet: NotifySet;
    SyncEventTaskNotifyAdd: NotifyAdd;
    SyncEventTaskWaitEq: WaitEq;
    SyncEventTaskWaitNeq: WaitNeq;
    MmapAdviseTaskInvalidateCache: InvalidateCache;
}

/// A completion callback, whatever structure of C it takes.
type TaskEnded = TaskCallback<host::Task>;

fn erased<T: OfKind>(callback: TaskCallback<T>) -> TaskEnded {
    // SAFETY: the two differ in the type behind one pointer, so they are called alike. `complete`
    // calls it with a task of this kind.
    unsafe { std::mem::transmute::<TaskCallback<T>, TaskEnded>(callback) }
}

/// The limit of one kind of tasks, and how many are allocated.
#[derive(Clone, Copy, Default)]
struct Room {
    callbacks: Option<(TaskEnded, TaskEnded)>,
    most: u32,
    out: u32,
}

/// The tasks of a context.
#[derive(Default)]
pub(crate) struct Tasks {
    rooms: [Cell<Room>; KINDS],
    pub(crate) in_flight: Cell<usize>,
}

impl Tasks {
    fn room(&self, kind: LocalTaskKind) -> &Cell<Room> {
        &self.rooms[kind as usize]
    }

    pub(crate) fn configure<T: OfKind>(
        &self,
        completed: Option<TaskCallback<T>>,
        failed: Option<TaskCallback<T>>,
        most: u32,
    ) -> Result<(), Failure> {
        let (Some(completed), Some(failed), 1..) = (completed, failed, most) else {
            let name = T::KIND.prefix();
            return Err(failure!(
                INVALID_VALUE,
                "{name}_set_conf needs two callbacks and a number of at least 1"
            ));
        };
        let callbacks = Some((erased(completed), erased(failed)));
        self.room(T::KIND).set(Room { callbacks, most, out: 0 });
        Ok(())
    }

    /// Whether the context has tasks, and so needs an engine.
    pub(crate) fn are_configured(&self) -> bool {
        self.rooms.iter().any(|room| room.get().most != 0)
    }

    fn count(&self, kind: LocalTaskKind, change: impl FnOnce(u32) -> u32) {
        let room = self.room(kind);
        room.update(|now| Room { out: change(now.out), ..now });
    }

    fn are_released(&self) -> bool {
        self.rooms.iter().all(|room| room.get().out == 0)
    }

    /// Ends what waits. `SUCCESS` when no task is allocated; else the context goes idle with the
    /// last release.
    pub(crate) fn stop(&self, ctx: &Context) -> DocaError {
        if let Ok(pe) = ctx.pe() {
            pe.give_up_waits(ctx, DocaError::SHUTDOWN);
        }
        if self.are_released() {
            ctx.set_state(CtxState::IDLE);
            return DocaError::SUCCESS;
        }
        ctx.set_state(CtxState::STOPPING);
        DocaError::IN_PROGRESS
    }
}

/// A task. It is allocated and freed each time.
#[repr(C)]
pub(crate) struct LocalTask {
    tag: Tag,
    pub(crate) head: Head,
    me: Weak<LocalTask>,
    /// It goes idle only once this task is released.
    pub(crate) ctx: Rc<Context>,
    pub(crate) kind: LocalTaskKind,
    /// That of a sync event.
    counter: Option<Counter>,
    /// The number to set, to add, or to wait for.
    pub(crate) value: Cell<u64>,
    pub(crate) mask: Cell<u64>,
    /// The host's place for a number, or its buffer.
    pub(crate) place: Cell<*mut c_void>,
    /// Wakes a host that sleeps.
    watch: RefCell<Option<Wait>>,
}

object!(LocalTask, Local);

impl<T: OfKind> Opaque for T {
    type Found<'a> = &'a LocalTask;

    unsafe fn find<'a>(pointer: *const T) -> Result<&'a LocalTask, DocaError> {
        // SAFETY: the caller's promise.
        let task: &LocalTask = unsafe { borrow(pointer) }?;
        if task.kind == T::KIND { Ok(task) } else { Err(DocaError::INVALID_VALUE) }
    }
}

impl LocalTask {
    /// A task for the host, with the arguments of its kind: `(value, mask, place)`.
    pub(crate) fn allocate<T: OfKind>(
        ctx: &Context,
        counter: Option<Counter>,
        user_data: Data,
        (value, mask, place): (u64, u64, *mut c_void),
    ) -> Result<*mut T, DocaError> {
        let (kind, tasks) = (T::KIND, ctx.tasks(T::KIND)?);
        let room = tasks.room(kind).get();
        if room.most == 0 {
            let name = kind.prefix();
            log!(warn, "{name}_alloc_init: call {name}_set_conf before the context is started");
            return Err(DocaError::BAD_CONFIG);
        }
        if room.out == room.most {
            let name = kind.prefix();
            log!(debug, "{name}_alloc_init: all of {} are allocated; free one", room.most);
            return Err(DocaError::NO_MEMORY);
        }
        let ctx = ctx.handle().ok_or(DocaError::INVALID_VALUE)?;
        let task = Rc::new_cyclic(|me| LocalTask {
            tag: Tag::of::<LocalTask>(),
            head: Head::new(),
            me: Weak::clone(me),
            ctx,
            kind,
            counter,
            value: Cell::new(value),
            mask: Cell::new(mask),
            place: Cell::new(place),
            watch: RefCell::default(),
        });
        task.head.hold();
        task.head.user_data.set(user_data);
        task.ctx.tasks(kind)?.count(kind, |out| out + 1);
        Ok(publish(task))
    }

    /// Takes it back from the host, for the caller to drop.
    pub(crate) fn release(&self) -> Result<Rc<LocalTask>, DocaError> {
        self.head.is_callers()?;
        // SAFETY: the host gives its reference back.
        let task: Rc<LocalTask> = unsafe { withdraw(self.me.as_ptr()) }?;
        let (ctx, tasks) = (&task.ctx, task.ctx.tasks(task.kind)?);
        tasks.count(task.kind, |out| out - 1);
        if ctx.is(CtxState::STOPPING) && tasks.are_released() {
            ctx.pe()?.announce(ctx, CtxState::IDLE);
        }
        Ok(task)
    }

    /// Carries it out. After an error it is still the caller's.
    #[cold]
    pub(crate) fn submit(&self) -> Result<(), DocaError> {
        self.head.is_callers()?;
        self.ctx.require_running()?;
        let task = self.me.upgrade().ok_or(DocaError::INVALID_VALUE)?;
        let (tasks, pe) = (self.ctx.tasks(self.kind)?, self.ctx.pe()?);
        let result = self.run()?;
        self.head.stage.set(Stage::InFlight);
        tasks.in_flight.update(|count| count + 1);
        match result {
            Some(result) => task.answer(&pe, DocaError::of(result)),
            None => pe.wait_for(task),
        }
        Ok(())
    }

    /// How it ended, or `None` for a wait that goes on. An error outside is of its arguments.
    fn run(&self) -> Result<Option<Result<(), DocaError>>, DocaError> {
        let place = self.place.get().cast::<u64>();
        let Some(counter) = &self.counter else {
            // SAFETY: the host's buffer.
            return match unsafe { host::Buf::find(self.place.get().cast()) }? {
                // Caches are coherent on this machine.
                AnyBuf::OfMap(buf) => buf.element().map(|_| Some(Ok(()))),
                AnyBuf::OfTask(_) => Err(DocaError::NOT_PERMITTED),
            };
        };
        if matches!(self.kind, LocalTaskKind::Get | LocalTaskKind::NotifyAdd) && place.is_null() {
            return Err(DocaError::INVALID_VALUE);
        }
        // SAFETY: the host's place, which stays until the task completes.
        let store = |number| unsafe { put(place, number) };
        Ok(match self.kind {
            LocalTaskKind::Get => Some(store(counter.get())),
            LocalTaskKind::NotifySet => Some(counter.set(self.value.get()).map_err(told)),
            LocalTaskKind::NotifyAdd => {
                Some(counter.add(self.value.get()).map_err(told).and_then(store))
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

    /// Whether the counter is what it waits for.
    pub(super) fn is_met(&self) -> bool {
        self.counter.as_ref().is_none_or(|counter| self.condition().is_met(counter.get()))
    }

    /// Has the waker called when the counter is what it waits for; whether it is so already.
    pub(super) fn watch(&self, waker: &std::task::Waker) -> urom_memory::Result<bool> {
        let Some(counter) = &self.counter else { return Ok(true) };
        let mut watch = self.watch.borrow_mut();
        let wait = watch.get_or_insert_with(|| counter.wait(self.condition()));
        match std::pin::Pin::new(wait).poll(&mut std::task::Context::from_waker(waker)) {
            std::task::Poll::Ready(found) => found.map(|_| true),
            std::task::Poll::Pending => Ok(false),
        }
    }

    pub(super) fn answer(self: Rc<Self>, pe: &Pe, code: DocaError) {
        self.watch.take();
        self.head.status.set(code);
        self.head.stage.set(Stage::Answered);
        pe.push(Other::Local(self));
    }

    /// Hands the task back to the host, or its result to the graph that submitted it.
    pub(super) fn complete(&self, pe: &Pe) {
        let Ok(tasks) = self.ctx.tasks(self.kind) else { return };
        tasks.in_flight.update(|count| count - 1);
        self.head.stage.set(Stage::Done);
        if self.head.in_graph.get() {
            return pe.node_ended(&self.head, as_c(self));
        }
        let Some((completed, failed)) = tasks.room(self.kind).get().callbacks else { return };
        let callback = match self.head.status.get() {
            DocaError::SUCCESS => completed,
            _ => failed,
        };
        let (user_data, ctx_data) = (self.head.user_data.get(), self.ctx.user_data.get());
        // SAFETY: the host gave this function for exactly this call, and the task is the host's
        // from now on.
        unsafe { callback(as_c(self), user_data, ctx_data) };
    }
}
