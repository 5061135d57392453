//! Code shared by the contexts of services, workers and domains (`struct doca_ctx`).

use std::cell::RefCell;
use std::future::poll_fn;
use std::ops::Deref;
use std::ptr::NonNull;
use std::task::{Context as TaskContext, Poll, Waker};

use urom_abi::host::{Api, Ctx, CtxState, Extensions};
use urom_abi::{DocaError, DocaStatus};
use urom_os::fork::Maker;

use crate::callback;
use crate::engine::ProgressEngine;
use crate::error::{Error, Result, made_here};
use crate::library::{Library, get};

/// The state of a worker or a domain (`enum doca_ctx_states`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ContextState {
    /// Stopped, or the worker process has ended.
    Idle,
    /// Starting.
    Starting,
    /// Usable: a worker accepts tasks.
    Running,
    /// Stopping, or the worker process has ended and its tasks are being flushed.
    Stopping,
}

impl From<CtxState> for ContextState {
    fn from(state: CtxState) -> ContextState {
        match state {
            CtxState::STARTING => ContextState::Starting,
            CtxState::RUNNING => ContextState::Running,
            CtxState::STOPPING => ContextState::Stopping,
            _ => ContextState::Idle,
        }
    }
}

pub(crate) trait ObjectKind: Sized + 'static {
    type Raw;

    const KIND: &'static str;

    fn functions(api: &Api) -> Functions<Self::Raw>;

    fn name(&self) -> String;

    /// Runs inside progress, start or stop, before the state's watchers are woken.
    fn state_changed(_context: &Context<Self>, _next: CtxState) {}

    fn before_stop(_context: &Context<Self>) {}

    fn can_leave(_context: &Context<Self>) -> bool {
        false
    }

    /// Leaves the stopping object to the library, which destroys it later.
    fn leave(_context: &Context<Self>) -> Result<(), DocaError> {
        Err(DocaError::TIME_OUT)
    }
}

pub(crate) type Functions<T> = (
    unsafe extern "C" fn(*mut *mut T) -> DocaStatus,
    unsafe extern "C" fn(*mut T) -> *mut Ctx,
    unsafe extern "C" fn(*mut T) -> DocaStatus,
);

pub(crate) struct Context<K: ObjectKind> {
    pub(crate) maker: Maker,
    pub(crate) library: Library,
    pub(crate) engine: ProgressEngine,
    pub(crate) object: NonNull<K::Raw>,
    pub(crate) ctx: NonNull<Ctx>,
    pub(crate) watchers: RefCell<Vec<Waker>>,
    pub(crate) kind: K,
}

impl<K: ObjectKind> Deref for Context<K> {
    type Target = K;

    fn deref(&self) -> &K {
        &self.kind
    }
}

impl<K: ObjectKind> Context<K> {
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        made_here(self.maker, || format!("using {}", self.name()))
    }

    pub(crate) fn api(&self) -> Result<&'static Api> {
        self.check().map(|()| self.library.api())
    }

    /// The library's extensions, or none if the context was made before a fork.
    pub(crate) fn extensions(&self) -> &'static Extensions {
        if self.maker.is_here() { self.library.extensions() } else { &Extensions::NONE }
    }

    /// The extensions for tasks: all or none.
    pub(crate) fn task_extensions(&self) -> &'static Extensions {
        if self.library.keeps_slots() { self.extensions() } else { &Extensions::NONE }
    }

    pub(crate) fn object(&self) -> *mut K::Raw {
        self.object.as_ptr()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.state().is_ok_and(|state| state == CtxState::IDLE)
    }

    pub(crate) fn state(&self) -> Result<CtxState> {
        let (api, what) = (self.api()?, || format!("asking {} for its state", K::KIND));
        // SAFETY: the context is live, and the pointer is to a local variable.
        get(CtxState::IDLE, what, |state| unsafe {
            (api.doca_ctx_get_state)(self.ctx.as_ptr(), state)
        })
    }

    pub(crate) fn failure(&self) -> String {
        if let Err(why) = self.maker.check() {
            return why.to_string();
        }
        let get_failure = self.extensions().urom_ctx_get_failure;
        let Some(get_failure) = get_failure else { return String::new() };
        let mut text = vec![0u8; 512];
        loop {
            let (buffer, capacity) = (text.as_mut_ptr().cast(), text.len());
            // SAFETY: the context is live and belongs to this thread; `capacity` bytes can be
            // written.
            let length = unsafe { get_failure(self.ctx.as_ptr(), buffer, capacity) };
            text.resize(length, 0);
            if length <= capacity {
                return String::from_utf8_lossy(&text).into_owned();
            }
        }
    }

    pub(crate) fn failure_code(&self) -> Option<DocaError> {
        let get_code = self.extensions().urom_ctx_get_failure_code?;
        // SAFETY: the context is live and belongs to this thread.
        unsafe { get_code(self.ctx.as_ptr()) }.check().err()
    }

    pub(crate) fn in_flight(&self) -> Result<usize> {
        let (api, what) = (self.api()?, || format!("counting tasks of {} in flight", K::KIND));
        // SAFETY: the context is live, and the pointer is to a local variable.
        get(0, what, |count| unsafe {
            (api.doca_ctx_get_num_inflight_tasks)(self.ctx.as_ptr(), count)
        })
    }

    pub(crate) fn begin_start(&self) -> Result<(), DocaError> {
        let start = self.api()?.doca_ctx_start;
        // SAFETY: `Owner` destroys the context in its drop only, and this borrows it.
        begun(callback::calling(|| unsafe { start(self.ctx.as_ptr()) }))
    }

    pub(crate) fn start(&self) -> Result<()> {
        self.begin_start().map_err(|code| self.error(code, "starting"))
    }

    pub(crate) fn stop(&self) -> Result<()> {
        if self.state()? == CtxState::IDLE {
            return Ok(());
        }
        K::before_stop(self);
        let stop = self.api()?.doca_ctx_stop;
        // SAFETY: `Owner` destroys the context in its drop only, and this borrows it.
        let status = callback::calling(|| unsafe { stop(self.ctx.as_ptr()) });
        begun(status).map_err(|code| self.error(code, "stopping"))
    }

    pub(crate) fn set(&self, status: DocaStatus, what: &str) -> Result<()> {
        status.check().map_err(|code| self.error(code, &format!("setting {what} of")))
    }

    fn error(&self, code: DocaError, verb: &str) -> Error {
        Error::new(code, format!("{verb} {}", self.name())).why(self.failure())
    }

    pub(crate) fn start_failure(&self) -> Error {
        let why = self.failure();
        let hint =
            if why.is_empty() { "the service's log says why" } else { "nothing was left behind" };
        let code = self.failure_code().unwrap_or(DocaError::INITIALIZATION);
        self.error(code, "starting").hint(hint)
    }

    pub(crate) async fn started(&self) -> Result<CtxState> {
        let is_over = |state: &Result<CtxState>| {
            !matches!(state, Ok(CtxState::STARTING | CtxState::STOPPING))
        };
        poll_fn(|cx| self.poll_state(cx, is_over)).await
    }

    pub(crate) async fn idle(&self) -> Result<()> {
        let is_over = |state: &Result<CtxState>| !matches!(state, Ok(it) if *it != CtxState::IDLE);
        poll_fn(|cx| self.poll_state(cx, is_over)).await.map(drop)
    }

    /// Progresses until `is_over` holds for the state, and returns the state; otherwise watches it.
    pub(crate) fn poll_state(
        &self,
        cx: &TaskContext<'_>,
        is_over: impl Fn(&Result<CtxState>) -> bool,
    ) -> Poll<Result<CtxState>> {
        let is_over = || is_over(&self.state());
        if self.engine.poll(cx, is_over) {
            return Poll::Ready(self.state());
        }
        self.engine.look_again(cx);
        self.watch_state(cx.waker());
        Poll::Pending
    }

    pub(crate) fn watch_state(&self, waker: &Waker) {
        if !self.watchers.borrow().iter().any(|known| known.will_wake(waker)) {
            let waker = waker.clone();
            self.watchers.borrow_mut().push(waker);
        }
    }
}

fn begun(status: DocaStatus) -> Result<(), DocaError> {
    if status == DocaStatus::IN_PROGRESS { Ok(()) } else { status.check() }
}
