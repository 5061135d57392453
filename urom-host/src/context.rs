//! What the contexts of workers and domains have in common (`struct doca_ctx`).

use std::cell::RefCell;
use std::future::poll_fn;
use std::ptr::{self, NonNull};
use std::task::{Context as TaskContext, Poll, Waker};

use urom_abi::DocaError;
use urom_abi::host::{Api, Ctx, CtxState, Data, StateChangedCallback};

use crate::callback;
use crate::engine::ProgressEngine;
use crate::error::{Error, Result, check};
use crate::library::{Library, get, non_null};
use crate::wait;

/// The state of a worker or a domain (`enum doca_ctx_states`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum State {
    /// Stopped, or its worker process is gone.
    Idle,
    /// It is starting.
    Starting,
    /// It can be used: a worker takes tasks.
    Running,
    /// It is stopping, or its worker process is gone and its tasks are being flushed.
    Stopping,
}

impl From<CtxState> for State {
    fn from(state: CtxState) -> State {
        match state {
            CtxState::STARTING => State::Starting,
            CtxState::RUNNING => State::Running,
            CtxState::STOPPING => State::Stopping,
            _ => State::Idle,
        }
    }
}

pub(crate) struct ContextHandle {
    pub(crate) library: Library,
    ctx: NonNull<Ctx>,
    /// Its kind in error messages, such as `a worker`.
    kind: &'static str,
    watchers: RefCell<Vec<Waker>>,
}

impl ContextHandle {
    /// Creates an object of the library, and the handle of its context.
    ///
    /// # Safety
    /// The functions are `library`'s, for objects of type `T`. The object belongs to this thread
    /// and lives as long as the handle.
    pub(crate) unsafe fn create<T>(
        library: Library,
        kind: &'static str,
        create: unsafe extern "C" fn(*mut *mut T) -> DocaError,
        as_ctx: unsafe extern "C" fn(*mut T) -> *mut Ctx,
    ) -> Result<(NonNull<T>, ContextHandle)> {
        let what = || format!("creating {kind}");
        // SAFETY: the pointer is to a local variable.
        let object = get(ptr::null_mut(), what, |object| unsafe { create(object) })?;
        let object = non_null(object, what)?;
        // SAFETY: the object was just created.
        let ctx = non_null(unsafe { as_ctx(object.as_ptr()) }, what)?;
        Ok((object, ContextHandle { library, ctx, kind, watchers: RefCell::default() }))
    }

    pub(crate) fn api(&self) -> &'static Api {
        self.library.api()
    }

    pub(crate) fn ctx(&self) -> NonNull<Ctx> {
        self.ctx
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.state().is_ok_and(|state| state == CtxState::IDLE)
    }

    pub(crate) fn register(
        &self,
        engine: &ProgressEngine,
        data: Data,
        on_change: StateChangedCallback,
    ) -> Result<()> {
        // SAFETY: the context is live, and the engine is one of this thread.
        unsafe { engine.core().connect(self.ctx) }?;
        // SAFETY: the context is live.
        let code = unsafe { (self.api().doca_ctx_set_user_data)(self.ctx.as_ptr(), data) };
        check(code, || format!("setting up {}", self.kind))?;
        // SAFETY: the context is live, and the callback takes the data just set.
        let code = unsafe {
            (self.api().doca_ctx_set_state_changed_cb)(self.ctx.as_ptr(), Some(on_change))
        };
        check(code, || format!("setting up {}", self.kind))
    }

    pub(crate) fn state(&self) -> Result<CtxState> {
        let what = || format!("asking {} for its state", self.kind);
        // SAFETY: the context is live, and the pointer is to a local variable.
        get(CtxState::IDLE, what, |state| unsafe {
            (self.api().doca_ctx_get_state)(self.ctx.as_ptr(), state)
        })
    }

    /// Why it failed, in the library's words; empty when it did not, or when the library has none.
    pub(crate) fn failure(&self) -> String {
        let Some(extensions) = self.library.extensions() else { return String::new() };
        let mut text = vec![0u8; 512];
        loop {
            let (place, room) = (text.as_mut_ptr().cast(), text.len());
            // SAFETY: the context is live and belongs to this thread; `room` bytes can be written.
            let length =
                unsafe { (extensions.urom_ctx_get_failure)(self.ctx.as_ptr(), place, room) };
            text.resize(length, 0);
            if length <= room {
                return String::from_utf8_lossy(&text).into_owned();
            }
        }
    }

    /// The code of the failure; `None` when there is none, or when the library does not say.
    pub(crate) fn failure_code(&self) -> Option<DocaError> {
        let extensions = self.library.extensions()?;
        // SAFETY: the context is live and belongs to this thread.
        unsafe { (extensions.urom_ctx_get_failure_code)(self.ctx.as_ptr()) }.check().err()
    }

    pub(crate) fn in_flight(&self) -> Result<usize> {
        let what = || format!("counting tasks of {} in flight", self.kind);
        // SAFETY: the context is live, and the pointer is to a local variable.
        get(0, what, |count| unsafe {
            (self.api().doca_ctx_get_num_inflight_tasks)(self.ctx.as_ptr(), count)
        })
    }

    /// Begins to start it. `what` is a phrase such as `starting worker 3`.
    pub(crate) fn start(&self, what: impl FnOnce() -> String) -> Result<()> {
        // SAFETY: the context is live.
        let code = callback::calling(|| unsafe { (self.api().doca_ctx_start)(self.ctx.as_ptr()) });
        self.begun(code, what)
    }

    pub(crate) fn stop(&self, what: impl FnOnce() -> String) -> Result<()> {
        // SAFETY: the context is live.
        let code = callback::calling(|| unsafe { (self.api().doca_ctx_stop)(self.ctx.as_ptr()) });
        self.begun(code, what)
    }

    /// Why a start ended in another state than `RUNNING`.
    pub(crate) fn start_failure(&self, what: String) -> Error {
        let why = self.failure();
        let hint =
            if why.is_empty() { "the service's log says why" } else { "nothing was left behind" };
        let code = self.failure_code().unwrap_or(DocaError::INITIALIZATION);
        Error::new(code, what).why(why).hint(hint)
    }

    fn begun(&self, code: DocaError, what: impl FnOnce() -> String) -> Result<()> {
        match code {
            DocaError::SUCCESS | DocaError::IN_PROGRESS => Ok(()),
            code => Err(Error::new(code, what()).why(self.failure())),
        }
    }

    /// Progresses `engine`, its own, until a start is over; returns the state then.
    pub(crate) async fn started(
        &self,
        engine: &ProgressEngine,
        what: impl Fn() -> String,
    ) -> Result<CtxState> {
        let is_over = |state: &Result<CtxState>| {
            !matches!(state, Ok(CtxState::STARTING | CtxState::STOPPING))
        };
        poll_fn(|cx| self.poll_state(engine, cx, is_over, &what)).await
    }

    /// Progresses until `is_over` holds for the state, and returns the state. When nothing moves
    /// before, wakes `cx` at the next change. `what` names the wait, for the error where nobody
    /// progresses the engine.
    pub(crate) fn poll_state(
        &self,
        engine: &ProgressEngine,
        cx: &TaskContext<'_>,
        is_over: impl Fn(&Result<CtxState>) -> bool,
        what: impl FnOnce() -> String,
    ) -> Poll<Result<CtxState>> {
        let is_over = || is_over(&self.state());
        let is_known = self.watchers.borrow().iter().any(|known| known.will_wake(cx.waker()));
        if is_known && !is_over() && engine.is_undriven() {
            return Poll::Ready(Err(wait::undriven(what())));
        }
        if engine.poll(cx, is_over) {
            return Poll::Ready(self.state());
        }
        engine.look_again(cx);
        if !is_known {
            let waker = cx.waker().clone();
            self.watchers.borrow_mut().push(waker);
        }
        Poll::Pending
    }

    /// To be called after every change of state.
    pub(crate) fn wake_watchers(&self) {
        let watchers = self.watchers.take();
        watchers.into_iter().for_each(|waker| callback::guard(|| waker.wake()));
    }
}
