//! `doca_ctx`: the common part of all contexts.

pub(crate) mod advise;
pub(crate) mod domain;
pub(crate) mod service;
pub(crate) mod sync_event;
pub(crate) mod worker;

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::atomic::{AtomicU64, Ordering};

use urom_abi::DocaError;
use urom_abi::host::{Ctx, CtxState, Data, StateChangedCallback};
use urom_wire::control::Failure;

use crate::event::Event;
use crate::failure::failure;
use crate::handle::{Opaque, Tag, object, publish, share};
use crate::pe::Pe;
use crate::pe::ctx::advise::MmapAdvise;
use crate::pe::ctx::domain::Domain;
use crate::pe::ctx::service::Service;
use crate::pe::ctx::sync_event::SyncEvent;
use crate::pe::ctx::worker::Worker;
use crate::pe::local::{LocalTaskKind, Tasks};

/// A context. A host's pointer to a service, worker, domain, sync event or hints about memory is
/// also its pointer to the `doca_ctx`.
#[repr(C)]
pub(crate) struct Context {
    tag: Tag,
    me: Weak<Context>,
    pub(crate) state: Cell<CtxState>,
    /// The number of its run, from a start to the next idle. No two runs of a process have the
    /// same.
    run: Cell<u64>,
    pub(crate) user_data: Cell<Data>,
    pub(crate) state_changed: Cell<Option<StateChangedCallback>>,
    pe: RefCell<Option<Rc<Pe>>>,
    failure: RefCell<Option<Failure>>,
    /// It left RUNNING by itself, and the host has not stopped it since.
    pub(crate) lost: Cell<bool>,
    part: Part,
}

object!(Context, Context);

impl Opaque for Ctx {
    type Found<'a> = Rc<Context>;

    unsafe fn find<'a>(pointer: *const Ctx) -> Result<Self::Found<'a>, DocaError> {
        // SAFETY: the caller's promise.
        unsafe { share(pointer) }
    }
}

pub(crate) enum Part {
    Service(Service),
    Worker(Worker),
    Domain(Domain),
    SyncEvent(SyncEvent),
    MmapAdvise(MmapAdvise),
}

/// Functions that give a context's own part (`INVALID_VALUE` for another kind), and its name.
macro_rules! kinds {
    ($($name:ident: $kind:ident;)*) => {
        fn name(&self) -> &'static str {
            match &self.part {
                $(Part::$kind(_) => stringify!($name),)*
            }
        }
        $(
        #[inline]
        pub(crate) fn $name(&self) -> Result<&$kind, DocaError> {
            match &self.part {
                Part::$kind(own) => Ok(own),
                _ => Err(DocaError::INVALID_VALUE),
            }
        }
        )*
    };
}

impl Context {
    pub(crate) fn new(part: Part) -> Rc<Context> {
        Rc::new_cyclic(|me| Context {
            tag: Tag::of::<Context>(),
            me: Weak::clone(me),
            state: Cell::new(CtxState::IDLE),
            run: Cell::new(0),
            user_data: Cell::new(Data { u64: 0 }),
            state_changed: Cell::new(None),
            pe: RefCell::new(None),
            failure: RefCell::default(),
            lost: Cell::new(false),
            part,
        })
    }

    /// Hands a new context to the host.
    pub(crate) fn publish<C>(part: Part) -> *mut C {
        publish(Context::new(part))
    }

    /// The host destroyed it: it counts no more, even while something still refers to it.
    pub(crate) fn retire(&self) {
        match &self.part {
            Part::Service(service) => drop(service.device.take()),
            Part::Worker(worker) => drop(worker.service.take()),
            Part::Domain(_) => {}
            Part::SyncEvent(event) => event.retire(),
            Part::MmapAdvise(advise) => drop(advise.device.take()),
        }
        if let Some(pe) = self.pe.take() {
            pe.disconnect(self);
        }
    }

    pub(crate) fn weak(&self) -> Weak<Context> {
        Weak::clone(&self.me)
    }

    pub(crate) fn handle(&self) -> Option<Rc<Context>> {
        self.me.upgrade()
    }

    /// C's pointer to it.
    pub(crate) fn as_ctx(&self) -> *mut Ctx {
        self.me.as_ptr().cast_mut().cast()
    }

    kinds! {
        service: Service;
        worker: Worker;
        domain: Domain;
        sync_event: SyncEvent;
        mmap_advise: MmapAdvise;
    }

    /// Its tasks of a kind. `INVALID_VALUE` for a context of another kind.
    pub(crate) fn tasks(&self, kind: LocalTaskKind) -> Result<&Tasks, DocaError> {
        match &self.part {
            Part::SyncEvent(event) if kind != LocalTaskKind::InvalidateCache => Ok(&event.tasks),
            Part::MmapAdvise(advise) if kind == LocalTaskKind::InvalidateCache => Ok(&advise.tasks),
            _ => Err(DocaError::INVALID_VALUE),
        }
    }

    #[inline]
    pub(crate) fn is(&self, state: CtxState) -> bool {
        self.state.get() == state
    }

    /// `BAD_STATE` unless it can be configured.
    pub(crate) fn require_idle(&self) -> Result<(), DocaError> {
        if self.is(CtxState::IDLE) { Ok(()) } else { Err(DocaError::BAD_STATE) }
    }

    /// `BAD_STATE` unless it runs.
    #[inline]
    pub(crate) fn require_running(&self) -> Result<(), DocaError> {
        if self.is(CtxState::RUNNING) { Ok(()) } else { Err(DocaError::BAD_STATE) }
    }

    /// Begins a run, to which events of the control thread belong. Returns its number.
    pub(crate) fn begin(&self) -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        self.run.set(NEXT.fetch_add(1, Ordering::Relaxed));
        self.run.get()
    }

    pub(crate) fn run(&self) -> u64 {
        self.run.get()
    }

    pub(crate) fn set_state(&self, next: CtxState) {
        let previous = self.state.replace(next);
        if previous == next {
            return;
        }
        // A clone: the callback may destroy the context.
        let pe = self.pe.borrow().clone();
        if next == CtxState::IDLE {
            self.run.set(0);
            // What else was announced must not reach the next run.
            pe.as_ref().inspect(|pe| pe.forget(self));
        }
        if let Some(callback) = self.state_changed.get() {
            // SAFETY: the host gave this function for exactly this call, and the context is live.
            let call = || unsafe { callback(self.user_data.get(), self.as_ctx(), previous, next) };
            match pe {
                Some(pe) => pe.call_back(call),
                None => call(),
            }
        }
    }

    pub(crate) fn pe(&self) -> Result<Rc<Pe>, DocaError> {
        self.pe.borrow().clone().ok_or(DocaError::NOT_CONNECTED)
    }

    pub(crate) fn connect(&self, pe: Rc<Pe>) -> Result<(), DocaError> {
        if self.pe.borrow().is_some() {
            return Err(DocaError::NOT_PERMITTED);
        }
        self.require_idle()?;
        pe.connect(self.weak());
        *self.pe.borrow_mut() = Some(pe);
        Ok(())
    }

    /// Configures the idle context, which keeps the failure of a refusal.
    pub(crate) fn configure(
        &self,
        set: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), DocaError> {
        self.require_idle()?;
        set().map_err(|failure| self.fail(&failure))
    }

    /// Keeps why it failed to start or left RUNNING, for [`with_failure`](Context::with_failure),
    /// and returns the code.
    pub(crate) fn fail(&self, failure: &Failure) -> DocaError {
        log!(warn, "{}", failure.text);
        self.failure.replace(Some(failure.clone()));
        DocaError(failure.code)
    }

    pub(crate) fn with_failure<R>(&self, f: impl FnOnce(&Failure) -> R) -> Option<R> {
        self.failure.borrow().as_ref().map(f)
    }

    pub(crate) fn start(self: &Rc<Self>) -> DocaError {
        if let Err(code) = self.require_idle() {
            return code;
        }
        self.failure.replace(None);
        self.lost.set(false);
        if let Part::SyncEvent(event) = &self.part
            && !event.tasks.are_configured()
        {
            return event.start(self).unwrap_or_else(|failure| self.fail(&failure));
        }
        let started = self.pe().map_err(|code| {
            failure!(
                code = code,
                "the {} has no progress engine: call doca_pe_connect_ctx before doca_ctx_start",
                self.name()
            )
        });
        let started = started.and_then(|pe| match &self.part {
            Part::Service(service) => service.start(self, &pe),
            Part::Worker(worker) => worker.start(self, &pe),
            Part::Domain(domain) => domain.start(self, &pe),
            Part::SyncEvent(event) => event.start(self),
            Part::MmapAdvise(_) => {
                self.set_state(CtxState::RUNNING);
                Ok(DocaError::SUCCESS)
            }
        });
        started.unwrap_or_else(|failure| self.fail(&failure))
    }

    pub(crate) fn stop(&self) -> DocaError {
        self.lost.set(false);
        if let (CtxState::RUNNING, Part::SyncEvent(event)) = (self.state.get(), &self.part) {
            return event.stop(self);
        }
        match (self.state.get(), self.pe()) {
            (CtxState::IDLE, _) => DocaError::SUCCESS,
            (CtxState::STOPPING, _) => DocaError::IN_PROGRESS,
            (_, Ok(pe)) => match &self.part {
                Part::Service(service) => service.stop(self, &pe),
                Part::Worker(worker) => worker.stop(self, &pe),
                Part::Domain(domain) => domain.stop(self),
                Part::SyncEvent(event) => event.stop(self),
                Part::MmapAdvise(advise) => advise.tasks.stop(self),
            },
            (_, Err(code)) => code,
        }
    }

    pub(crate) fn on_event(self: &Rc<Self>, pe: &Pe, event: Event) {
        match &self.part {
            Part::Service(service) => service.on_event(self, pe, event),
            Part::Worker(worker) => worker.on_event(pe, event),
            Part::Domain(_) | Part::SyncEvent(_) | Part::MmapAdvise(_) => {}
        }
    }

    /// Applies a change of state from the queue, if it is still valid.
    pub(crate) fn arrive(&self, pe: &Pe, next: CtxState) -> bool {
        let applies = match next {
            CtxState::RUNNING => self.is(CtxState::STARTING) && self.begins(),
            CtxState::STOPPING => self.is(CtxState::RUNNING),
            _ => !self.is(CtxState::IDLE),
        };
        if !applies {
            return false;
        }
        // Only a loss comes through the queue: a stop takes effect at once.
        self.lost.set(next == CtxState::STOPPING || self.lost.get());
        if next == CtxState::IDLE {
            match &self.part {
                Part::Service(_) | Part::SyncEvent(_) | Part::MmapAdvise(_) => {}
                Part::Worker(worker) => worker.ended(pe),
                Part::Domain(domain) => domain.ended(),
            }
        }
        self.set_state(next);
        true
    }

    fn begins(&self) -> bool {
        match &self.part {
            Part::Service(_) | Part::SyncEvent(_) | Part::MmapAdvise(_) => false,
            Part::Worker(worker) => worker.begins(),
            Part::Domain(domain) => domain.begins(),
        }
    }

    pub(crate) fn in_flight(&self) -> usize {
        match &self.part {
            Part::Service(service) => service.queries.in_flight.get(),
            Part::Worker(worker) => worker.in_flight(),
            Part::Domain(_) => 0,
            Part::SyncEvent(event) => event.tasks.in_flight.get(),
            Part::MmapAdvise(advise) => advise.tasks.in_flight.get(),
        }
    }
}
