//! `doca_ctx`: the common part of all contexts.

pub(crate) mod advise;
pub(crate) mod domain;
pub(crate) mod service;
pub(crate) mod sync_event;
pub(crate) mod worker;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::atomic::{AtomicU64, Ordering};

use urom_abi::DocaError;
use urom_abi::host::{Ctx, CtxState, Data, StateChangedCallback};
use urom_wire::control::Failure;

use crate::event::EngineEvent;
use crate::failure::{failure, refuse_if};
use crate::handle::{ObjectTag, Opaque, object, publish, share, withdraw};
use crate::pe::Pe;
use crate::pe::tasks::{LocalTaskKind, LocalTasks};

/// A context. A host's pointer to a service, worker or other kind is also its `doca_ctx` pointer.
#[repr(C)]
pub(crate) struct Context {
    tag: ObjectTag,
    me: Weak<Context>,
    pub(crate) state: Cell<CtxState>,
    /// The process-unique number of the run, from a start to the next idle.
    run: Cell<u64>,
    pub(crate) user_data: Cell<Data>,
    pub(crate) state_changed: Cell<Option<StateChangedCallback>>,
    pe: RefCell<Option<Rc<Pe>>>,
    failure: RefCell<Option<Failure>>,
    /// Whether it left RUNNING by itself and the host has not stopped it since.
    pub(crate) lost: Cell<bool>,
    /// Abandoned by the host: destroyed once it is idle.
    pub(crate) left: Cell<bool>,
    part: Box<dyn ContextPart>,
}

object!(Context, Context);

impl Opaque for Ctx {
    type Found<'a> = Rc<Context>;

    unsafe fn find<'a>(pointer: *const Ctx) -> Result<Self::Found<'a>, DocaError> {
        // SAFETY: the caller's promise.
        unsafe { share(pointer) }
    }
}

pub(crate) trait ContextPart: Any {
    fn name(&self) -> &'static str;

    /// Returns the context's next state.
    fn start(&self, ctx: &Rc<Context>) -> Result<CtxState, Failure>;

    /// Returns the context's next state.
    fn stop(&self, ctx: &Context) -> Result<CtxState, DocaError>;

    /// Releases all resources others may wait for, after the host destroyed the context.
    fn retire(&self);

    fn in_flight(&self) -> usize {
        0
    }

    fn tasks(&self, _kind: LocalTaskKind) -> Option<&LocalTasks> {
        None
    }

    fn on_event(&self, _ctx: &Context, _pe: &Pe, _event: EngineEvent) {}

    /// Advances a start by one step. Returns whether another follows.
    fn step(&self, _ctx: &Rc<Context>, _pe: &Pe) -> bool {
        false
    }

    fn begins(&self) -> bool {
        false
    }

    fn ended(&self, _pe: &Pe) {}
}

impl Context {
    pub(crate) fn new(part: impl ContextPart) -> Rc<Context> {
        Rc::new_cyclic(|me| Context {
            tag: ObjectTag::of::<Context>(),
            me: Weak::clone(me),
            state: Cell::new(CtxState::IDLE),
            run: Cell::new(0),
            user_data: Cell::default(),
            state_changed: Cell::new(None),
            pe: RefCell::new(None),
            failure: RefCell::default(),
            lost: Cell::new(false),
            left: Cell::new(false),
            part: Box::new(part),
        })
    }

    pub(crate) fn publish<C>(part: impl ContextPart) -> *mut C {
        publish(Context::new(part))
    }

    /// Removes a destroyed context from the engine, even if references remain.
    pub(crate) fn retire(&self) {
        self.part.retire();
        if let Some(pe) = self.pe.take() {
            pe.disconnect(self);
        }
    }

    pub(crate) fn weak(&self) -> Weak<Context> {
        Weak::clone(&self.me)
    }

    pub(crate) fn handle(&self) -> Result<Rc<Context>, DocaError> {
        self.me.upgrade().ok_or(DocaError::INVALID_VALUE)
    }

    pub(crate) fn as_ctx(&self) -> *mut Ctx {
        self.me.as_ptr().cast_mut().cast()
    }

    /// `INVALID_VALUE` for a context of another kind.
    #[inline]
    pub(crate) fn part<T: ContextPart>(&self) -> Result<&T, DocaError> {
        let part: &dyn Any = &*self.part;
        part.downcast_ref().ok_or(DocaError::INVALID_VALUE)
    }

    /// `INVALID_VALUE` for a context of another kind.
    pub(crate) fn tasks(&self, kind: LocalTaskKind) -> Result<&LocalTasks, DocaError> {
        self.part.tasks(kind).ok_or(DocaError::INVALID_VALUE)
    }

    #[inline]
    pub(crate) fn is(&self, state: CtxState) -> bool {
        self.state.get() == state
    }

    pub(crate) fn require_idle(&self) -> Result<(), DocaError> {
        if self.is(CtxState::IDLE) { Ok(()) } else { Err(DocaError::BAD_STATE) }
    }

    #[inline]
    pub(crate) fn require_running(&self) -> Result<(), DocaError> {
        if self.is(CtxState::RUNNING) { Ok(()) } else { Err(DocaError::BAD_STATE) }
    }

    /// Begins a run and returns its number, for events of the control thread.
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
        // A clone, because the callback may destroy the context.
        let pe = self.pe.borrow().clone();
        if next == CtxState::IDLE {
            self.run.set(0);
            // Pending state changes must not reach the next run.
            pe.as_ref().inspect(|pe| pe.forget(self));
        }
        if let Some(callback) = self.state_changed.get() {
            // SAFETY: the host set this function for this call, and the context is live.
            let call = || unsafe { callback(self.user_data.get(), self.as_ctx(), previous, next) };
            match pe {
                Some(pe) => pe.call_back(call),
                None => call(),
            }
        }
    }

    /// Enters the state after a start or a stop. `IN_PROGRESS` if an event ends it.
    fn enter(&self, next: CtxState) -> Result<(), DocaError> {
        self.set_state(next);
        match next {
            CtxState::STARTING | CtxState::STOPPING => Err(DocaError::IN_PROGRESS),
            _ => Ok(()),
        }
    }

    pub(crate) fn pe(&self) -> Result<Rc<Pe>, DocaError> {
        self.pe.borrow().clone().ok_or(DocaError::NOT_CONNECTED)
    }

    pub(crate) fn connect(&self, pe: Rc<Pe>) -> Result<(), DocaError> {
        refuse_if(self.pe.borrow().is_some(), DocaError::NOT_PERMITTED)?;
        self.require_idle()?;
        pe.connect(self.weak());
        *self.pe.borrow_mut() = Some(pe);
        Ok(())
    }

    pub(crate) fn configure(
        &self,
        set: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), DocaError> {
        self.require_idle()?;
        set().map_err(|failure| self.fail(&failure))
    }

    /// Stores a failure for [`with_failure`](Context::with_failure) and returns its code.
    pub(crate) fn fail(&self, failure: &Failure) -> DocaError {
        log!(warn, "{}", failure.text);
        self.failure.replace(Some(failure.clone()));
        failure.code
    }

    pub(crate) fn with_failure<R>(&self, f: impl FnOnce(&Failure) -> R) -> Option<R> {
        self.failure.borrow().as_ref().map(f)
    }

    pub(crate) fn start(self: &Rc<Self>) -> Result<(), DocaError> {
        self.require_idle()?;
        self.failure.replace(None);
        self.lost.set(false);
        self.enter(self.part.start(self).map_err(|failure| self.fail(&failure))?)
    }

    pub(crate) fn engine(&self) -> Result<Rc<Pe>, Failure> {
        self.pe().map_err(|code| {
            failure!(
                code = code,
                "the {} lacks a progress engine: call doca_pe_connect_ctx before doca_ctx_start",
                self.part.name()
            )
        })
    }

    pub(crate) fn stop(&self) -> Result<(), DocaError> {
        self.lost.set(false);
        match self.state.get() {
            CtxState::IDLE => Ok(()),
            CtxState::STOPPING => Err(DocaError::IN_PROGRESS),
            _ => self.enter(self.part.stop(self)?),
        }
    }

    pub(crate) fn on_event(&self, pe: &Pe, event: EngineEvent) {
        self.part.on_event(self, pe, event);
    }

    pub(crate) fn step(self: &Rc<Self>, pe: &Pe) -> bool {
        self.part.step(self, pe)
    }

    /// Applies a queued state change if it is still valid.
    pub(crate) fn arrive(&self, pe: &Pe, next: CtxState) -> bool {
        let applies = match next {
            CtxState::RUNNING => self.is(CtxState::STARTING) && self.part.begins(),
            CtxState::STOPPING => self.is(CtxState::RUNNING),
            _ => !self.is(CtxState::IDLE),
        };
        if !applies {
            return false;
        }
        // Only a loss is queued; a stop takes effect at once.
        self.lost.set(next == CtxState::STOPPING || self.lost.get());
        if next == CtxState::IDLE {
            self.part.ended(pe);
        }
        self.set_state(next);
        if next == CtxState::IDLE && self.left.get() {
            self.retire();
            // SAFETY: the host returned its reference when it abandoned the context.
            drop(unsafe { withdraw::<Context, Ctx>(self.as_ctx()) });
        }
        true
    }

    /// Takes over an abandoned context. Disables its callback.
    pub(crate) fn leave(&self) {
        self.left.set(true);
        self.state_changed.set(None);
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.part.in_flight()
    }
}
