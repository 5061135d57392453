//! `doca_urom_worker`: configuration, start and stop.

use std::cell::{Cell, Ref, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::mpsc;
use urom_abi::cpu::CpuSet;
use urom_abi::host::{Cancelled, CtxState};
use urom_abi::{DocaError, WORKER_ID_ANY};
use urom_wire::control::{Attach, Failure, StartWorker};

use crate::event::EngineEvent;
use crate::failure::failure;
use crate::pe::Pe;
use crate::pe::ctx::{Context, ContextPart};
use crate::pe::run::WorkerRun;
use crate::running::SharedService;
use crate::sharing::{LateCallbacks, ShareCallback};
use crate::worker_link::{self, Visit};

const DEFAULT_MAX_INFLIGHT: u32 = 32;

pub(crate) fn check_cpus(cpus: &CpuSet, of_service: &CpuSet) -> Result<(), Failure> {
    if cpus.is_subset(of_service) {
        return Ok(());
    }
    Err(failure!(
        INVALID_VALUE,
        "the worker's CPUs {cpus} are not all among the service's: {of_service}"
    ))
}

#[derive(Default)]
pub(crate) struct Worker {
    pub(crate) service: RefCell<Option<Arc<SharedService>>>,
    pub(crate) id: Cell<u64>,
    pub(crate) plugins: Cell<u64>,
    pub(crate) cpus: Cell<Option<CpuSet>>,
    pub(crate) gid: Cell<u32>,
    pub(crate) max_inflight: Cell<u32>,
    pub(crate) env: RefCell<Option<Vec<String>>>,
    run: RefCell<Option<Rc<WorkerRun>>>,
    late: RefCell<Option<Arc<LateCallbacks>>>,
}

impl Worker {
    pub(crate) fn new() -> Worker {
        Worker {
            id: Cell::new(WORKER_ID_ANY),
            max_inflight: Cell::new(DEFAULT_MAX_INFLIGHT),
            ..Worker::default()
        }
    }

    /// Returns the configured id or the id chosen by the service.
    pub(crate) fn id(&self, ctx: &Context) -> Result<u64, DocaError> {
        if ctx.is(CtxState::RUNNING)
            && let Some(run) = &*self.run.borrow()
        {
            return Ok(run.id());
        }
        let id = self.id.get();
        if id == WORKER_ID_ANY { Err(DocaError::BAD_STATE) } else { Ok(id) }
    }

    pub(crate) fn flush(&self) {
        // A clone, because the log's reader may call back.
        let run = self.run.borrow().clone();
        run.into_iter().for_each(|run| run.flush());
    }

    /// Ends a memory's share, or after the run awaits all ends. `BAD_STATE` before the first run.
    pub(crate) fn unshare(
        &self,
        memory: u64,
        callback: impl FnOnce() -> ShareCallback,
    ) -> Result<(), DocaError> {
        let late = self.late.borrow().clone().ok_or(DocaError::BAD_STATE)?;
        match self.run.borrow().clone() {
            Some(run) => run.unshare(memory, callback()),
            None => late.keep(callback()),
        }
        Ok(())
    }

    pub(crate) fn cancelled(&self) -> Cancelled {
        self.run.borrow().as_ref().map_or_else(Cancelled::default, |run| run.tasks.cancelled())
    }

    /// Prepares to abandon the stopping worker to its engine. False while the host has its tasks.
    pub(crate) fn leave(&self) -> bool {
        let is_released = self.run.borrow().as_ref().is_some_and(|run| run.release_slot());
        if is_released {
            self.service.take();
        }
        is_released
    }

    #[inline]
    pub(crate) fn run(&self, ctx: &Context) -> Result<Ref<'_, Rc<WorkerRun>>, DocaError> {
        ctx.require_running()?;
        Ref::filter_map(self.run.borrow(), Option::as_ref).map_err(|_| DocaError::BAD_STATE)
    }
}

impl ContextPart for Worker {
    fn name(&self) -> &'static str {
        "worker"
    }

    fn start(&self, ctx: &Rc<Context>) -> Result<CtxState, Failure> {
        let pe = ctx.engine()?;
        let missing = |what: &str| failure!(INVALID_VALUE, "the worker lacks {what}");
        // A clone, because the state callback may destroy the worker and clear the cell.
        let service = self.service.borrow().clone();
        let service =
            service.ok_or_else(|| missing("service: call doca_urom_worker_set_service"))?;
        let running = service.running().ok_or_else(|| {
            failure!(BAD_STATE, "the worker's service does not run: start it first")
        })?;
        if self.plugins.get() == 0 {
            return Err(missing("plugins: call doca_urom_worker_set_plugins"));
        }
        if let Some(cpus) = self.cpus.get() {
            check_cpus(&cpus, &running.welcome.cpus)?;
        }
        let bell = pe.rings_bell()?;
        let slot = service.enter(Arc::clone(&running)).ok_or_else(|| {
            failure!(
                FULL,
                "the service has as many workers as doca_urom_service_set_max_workers \
                            allows: stop one or raise it"
            )
        })?;
        let (orders, given) = mpsc::unbounded_channel();
        let (plugins, max_inflight) = (self.plugins.get(), self.max_inflight.get() as usize);
        let (theirs, engine) = (Rc::clone(ctx), Rc::clone(&pe));
        let run = pe
            .open_channel(|channel| {
                WorkerRun::new(plugins, max_inflight, theirs, engine, channel, Some(slot), orders)
            })
            .ok_or_else(|| failure!(FULL, "this progress engine has too many workers"))?;
        self.run.replace(Some(Rc::clone(&run)));
        self.late.replace(Some(Arc::clone(&run.late)));
        let visit = Visit {
            worker: StartWorker {
                id: self.id.get(),
                plugins: self.plugins.get(),
                gid: self.gid.get(),
                env: self.env.borrow().clone(),
                cpus: self.cpus.get().map(|cpus| cpus.to_string()),
            },
            attach: Attach {
                token: 0,
                max_inflight: self.max_inflight.get(),
                max_message: running.max_message as u64,
                program: worker_link::program(),
            },
            bell,
            health: Arc::clone(&run.health),
            late: Arc::clone(&run.late),
            key: running.key.clone(),
            peer_timeout: running.peer_timeout,
            daemon: running.welcome.daemon,
            plugins: running.welcome.plugins.clone(),
        };
        let (requests, mailbox) = (running.requests.clone(), Arc::clone(&pe.mailbox));
        running.control.spawn(worker_link::serve(visit, requests, ctx.begin(), mailbox, given));
        Ok(CtxState::STARTING)
    }

    /// Always asynchronous, so that hosts that count progress results see the end.
    fn stop(&self, ctx: &Context) -> Result<CtxState, DocaError> {
        if let Some(run) = self.run.borrow().clone() {
            run.stop(&*ctx.pe()?);
        }
        Ok(CtxState::STOPPING)
    }

    fn on_event(&self, _ctx: &Context, pe: &Pe, event: EngineEvent) {
        let Some(run) = self.run.borrow().clone() else { return };
        match event {
            EngineEvent::Attached(attached) => run.on_attached(pe, *attached),
            EngineEvent::Overdue => run.on_overdue(pe),
            EngineEvent::Ended(reason) => run.on_ended(pe, reason),
            EngineEvent::Group { .. } | EngineEvent::Counter => {}
        }
    }

    /// Lets the run accept tasks when the host sees RUNNING.
    fn begins(&self) -> bool {
        let run = self.run.borrow().clone();
        match run {
            Some(run) if !run.is_leaving() => {
                run.open_gate();
                true
            }
            _ => false,
        }
    }

    fn ended(&self, pe: &Pe) {
        // Until the next start the host may read the counts and the tasks' user areas.
        if let Some(run) = self.run.borrow().clone() {
            pe.close_channel(run.channel);
            run.finish();
        }
    }

    fn retire(&self) {
        self.service.take();
        self.run.take();
    }

    fn in_flight(&self) -> usize {
        self.run.borrow().as_ref().map_or(0, |run| run.tasks.count())
    }
}
