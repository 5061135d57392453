//! A worker's context in the library.

use std::any::Any;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;

use urom_abi::DocaError;
use urom_abi::cpu::CpuSet;
use urom_abi::host::{Api, CtxState, Worker as RawWorker};

use crate::callback;
use crate::context::{self, Functions, ObjectKind};
use crate::engine::ProgressEngine;
use crate::error::{Result, check};
use crate::library::get;
use crate::owner;
use crate::plugin::Plugin;
use crate::service::core::ServiceCore;
use crate::worker::slots::{self, Slots};

#[derive(Clone)]
pub(crate) struct WorkerSettings {
    pub(crate) id: u64,
    pub(super) group: Option<u32>,
    pub(crate) plugins: Vec<Plugin>,
    pub(super) env: Vec<(String, String)>,
    pub(super) cpus: Option<CpuSet>,
    pub(crate) max_inflight: u32,
    pub(crate) timeout: Option<Duration>,
}

pub(crate) type Slot = slots::Slot<Context>;
pub(crate) type Context = context::Context<WorkerObject>;
pub(crate) type Owner = owner::Owner<WorkerObject>;

pub(crate) trait MemoryUse {
    fn is_over(&self) -> bool;

    /// Whether this shares the map with this number and its end was not requested.
    fn shares(&self, map: u64) -> bool;

    /// Makes the library end the use, once.
    fn ask(self: Arc<Self>, worker: &Context);
}

pub(crate) struct WorkerObject {
    pub(crate) service: Arc<ServiceCore>,
    pub(crate) serial: u64,
    pub(crate) slots: Slots<Context>,
    pub(crate) settings: WorkerSettings,
    pub(crate) plugins: u64,
    pub(crate) id: Cell<u64>,
    pub(crate) submitted: Cell<u64>,
    /// Replies to cancelled or timed out tasks, unless the library counts them.
    pub(crate) late_replies: Cell<u64>,
    pub(crate) dropped_replies: Cell<u64>,
    pub(crate) domains: Cell<usize>,
    /// Completed tasks must be released at once, so that the context can become idle.
    winding_down: Cell<bool>,
    /// Tasks are kept for the next command: while the worker runs, if the library allows it.
    keeps_tasks: Cell<bool>,
    /// The owner, for payloads. Empty before the worker runs; dead while it is being dropped.
    owner: OnceCell<Weak<Owner>>,
    pub(crate) held: Cell<usize>,
    pub(crate) uses: RefCell<Vec<Arc<dyn MemoryUse>>>,
    pub(super) attached: RefCell<Vec<Rc<dyn Any>>>,
}

impl Context {
    pub(crate) fn group(&self) -> Result<u32> {
        let api = self.api()?;
        // SAFETY: the worker is live, and the pointer is to a local variable.
        get(
            0,
            || "asking a worker for its group",
            |group| unsafe { (api.doca_urom_worker_get_gid)(self.object(), group) },
        )
    }

    pub(crate) fn refresh_id(&self) -> Result<()> {
        let api = self.api()?;
        // SAFETY: the worker is live, and the pointer is to a local variable.
        let id = get(
            0,
            || "asking a worker for its id",
            |id| unsafe { (api.doca_urom_worker_get_id)(self.object(), id) },
        )?;
        self.id.set(id);
        Ok(())
    }

    #[inline]
    pub(crate) fn give_back(&self, slot: &Slot) {
        if self.keeps_tasks.get() && !slot.is_released.get() {
            self.slots.put_ready(slot);
        } else {
            self.release(slot);
            self.slots.put_spare(slot);
        }
    }

    /// Releases a slot's task (`doca_urom_worker_cmd_task_release`), once.
    #[cold]
    pub(crate) fn release(&self, slot: &Slot) {
        let Ok(api) = self.api() else { return };
        if slot.is_released.get() {
            return;
        }
        self.slots.remove(slot);
        // SAFETY: the task is live, not in flight, and without another user.
        let status = unsafe { (api.doca_urom_worker_cmd_task_release)(slot.command.as_ptr()) };
        if let Err(code) = status.check() {
            tracing::warn!("a command task could not be released: {code}");
        }
    }

    pub(crate) fn is_winding_down(&self) -> bool {
        self.winding_down.get()
    }

    /// The owner, for a payload; `None` when the task must be released at once.
    pub(crate) fn keeper(&self) -> Option<Rc<Owner>> {
        if self.is_winding_down() { None } else { self.owner.get()?.upgrade() }
    }
}

impl ObjectKind for WorkerObject {
    type Raw = RawWorker;

    const KIND: &'static str = "a worker";

    fn functions(api: &Api) -> Functions<RawWorker> {
        (api.doca_urom_worker_create, api.doca_urom_worker_as_ctx, api.doca_urom_worker_destroy)
    }

    fn name(&self) -> String {
        match self.id.get() {
            urom_abi::WORKER_ID_ANY => "a worker of any id".to_owned(),
            id => format!("worker {}", urom_abi::WorkerId(id)),
        }
    }

    fn state_changed(context: &Context, next: CtxState) {
        context.winding_down.set(next == CtxState::STOPPING);
        // Only this project's library guarantees that a UROM task can be submitted again.
        let keeps = next == CtxState::RUNNING && context.library.is_own();
        context.keeps_tasks.set(keeps);
        if !keeps {
            // They would keep the context from becoming idle.
            context.release_ready();
        }
        if next == CtxState::IDLE {
            context.uses.take().into_iter().for_each(|used| used.ask(context));
        }
    }

    fn leave(context: &Context) -> Result<(), DocaError> {
        let leave = context.extensions().urom_worker_leave.ok_or(DocaError::TIME_OUT)?;
        context.uses.take().into_iter().for_each(|used| used.ask(context));
        // SAFETY: the worker is live, and its owner, which is being dropped, does not use it again.
        callback::calling(|| unsafe { leave(context.object()) }).check()
    }

    fn can_leave(context: &Context) -> bool {
        context.extensions().urom_worker_leave.is_some()
    }

    /// Copies and releases completed tasks that no future has taken yet.
    fn before_stop(context: &Context) {
        context.winding_down.set(true);
        context.keeps_tasks.set(false);
        context.release_all();
    }
}

impl Owner {
    pub(crate) fn new(
        service: Arc<ServiceCore>,
        engine: ProgressEngine,
        settings: WorkerSettings,
        plugins: u64,
    ) -> Result<Owner> {
        let kind = WorkerObject {
            serial: service.serial,
            service,
            slots: Slots::new(!engine.library().keeps_slots()),
            plugins,
            id: Cell::new(settings.id),
            settings,
            submitted: Cell::new(0),
            late_replies: Cell::new(0),
            dropped_replies: Cell::new(0),
            domains: Cell::new(0),
            winding_down: Cell::new(false),
            keeps_tasks: Cell::new(false),
            owner: OnceCell::new(),
            uses: RefCell::default(),
            attached: RefCell::default(),
            held: Cell::new(0),
        };
        let owner = Owner::create(engine, kind)?;
        let (set, service) = (owner.api()?.doca_urom_worker_set_service, owner.service.pointer());
        // SAFETY: both are live; any thread may make this one call on a service.
        check(unsafe { set(owner.object(), service) }, || "attaching a worker to its service")?;
        Ok(owner)
    }

    pub(crate) fn share(self) -> Rc<Owner> {
        let owner = Rc::new(self);
        if !owner.library.keeps_slots() {
            let worker: Weak<Owner> = Rc::downgrade(&owner);
            owner.engine.core().deadlines.add(worker);
        }
        let _ = owner.owner.set(Rc::downgrade(&owner));
        owner
    }
}
