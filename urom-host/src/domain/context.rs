//! A domain's context in the library, and what becomes of it.

use std::ffi::c_void;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::rc::Rc;
use std::time::Duration;

use urom_abi::DocaError;
use urom_abi::host::{Ctx, CtxState, Data, Domain as RawDomain};

use super::exchange::Exchange;
use crate::context::ContextHandle;
use crate::engine::ProgressEngine;
use crate::error::{Error, Result, check};
use crate::gather;
use crate::leaving::{DROP_WAIT, LEAVE_LIMIT, Leaver};
use crate::library::{Library, non_null};
use crate::thread;
use crate::wait;
use crate::worker;

/// A domain context and everything that must live as long as it.
pub(super) struct Context {
    handle: ContextHandle,
    domain: NonNull<RawDomain>,
    pub(super) engine: ProgressEngine,
    pub(super) exchange: Exchange,
    /// This process's workers, each with its id in the domain.
    pub(super) workers: Vec<(u64, Rc<worker::Owner>)>,
}

impl Deref for Context {
    type Target = ContextHandle;

    fn deref(&self) -> &ContextHandle {
        &self.handle
    }
}

impl Context {
    pub(super) fn domain(&self) -> *mut RawDomain {
        self.domain.as_ptr()
    }

    /// How error messages call the domain.
    pub(super) fn name(&self) -> String {
        let Exchange { participants, index, .. } = &self.exchange;
        format!("a domain as participant {index} of {participants}")
    }

    pub(super) fn start(&self) -> Result<()> {
        self.handle.start(|| self.starting())
    }

    /// Why the start failed.
    pub(super) fn start_failure(&self) -> Error {
        let code = self.failure_code().check().err();
        match self.exchange.take_failure() {
            Some(source) => {
                let code = code.unwrap_or_else(|| gather::code_of(&*source));
                Error::new(code, self.starting()).caused_by(source)
            }
            None => {
                let why = self.failure();
                let hint = if why.is_empty() {
                    "the service's log says why"
                } else {
                    "nothing was left behind"
                };
                Error::new(code.unwrap_or(DocaError::INITIALIZATION), self.starting())
                    .why(why)
                    .hint(hint)
            }
        }
    }

    fn starting(&self) -> String {
        format!("starting {}", self.name())
    }

    fn stopping(&self) -> String {
        format!("stopping {}", self.name())
    }

    /// Stops the domain, which is idle then.
    pub(super) fn stop(&self) -> Result<()> {
        // Inside a callback the rest is left to the end of the owner, which comes later.
        if self.stop_within(LEAVE_LIMIT)? || thread::in_callback() {
            return Ok(());
        }
        let why = format!("it is not idle after {LEAVE_LIMIT:?}");
        Err(Error::new(DocaError::TIME_OUT, self.stopping()).why(why))
    }

    /// Stops the domain. Whether it is idle within the limit: DOCA stops a domain at once, and here
    /// is room for a library that does not.
    fn stop_within(&self, limit: Duration) -> Result<bool> {
        if !self.is_idle() {
            self.handle.stop(|| self.stopping())?;
        }
        Ok(self.is_idle() || !thread::in_callback() && wait::wait_until(limit, || self.is_idle()))
    }

    /// Destroys the context; `false` when the library would not have it.
    fn destroy(&self) -> bool {
        // SAFETY: the domain is live and has no other user: its owner is being dropped.
        let code =
            thread::calling(|| unsafe { (self.api().doca_urom_domain_destroy)(self.domain()) });
        if let Err(code) = code.check() {
            tracing::warn!("{} could not be destroyed and stays behind: {code}", self.name());
        }
        code == DocaError::SUCCESS
    }
}

unsafe extern "C" fn on_state_changed(
    data: Data,
    _ctx: *mut Ctx,
    _previous: CtxState,
    next: CtxState,
) {
    thread::guard(|| {
        // SAFETY: a domain's context data is the pointer that `Owner::create` put there, or NULL before.
        let pointer = unsafe { data.ptr };
        if let Some(context) = NonNull::new(pointer.cast::<Context>()) {
            // SAFETY: the context outlives its registration: it is freed after the domain is destroyed.
            let context = unsafe { context.as_ref() };
            context.wake_watchers();
            if next == CtxState::IDLE {
                context.engine.is_idle(context.ctx());
            }
        }
    });
}

/// The owner of a [`Context`]: stops, destroys and frees it when dropped, or leaves that to its
/// engine.
///
/// The context lies at an address of its own, because the library's callbacks reach it.
pub(super) struct Owner {
    context: NonNull<Context>,
}

impl Owner {
    pub(super) fn create(
        library: Library,
        engine: ProgressEngine,
        exchange: Exchange,
        workers: Vec<(u64, Rc<worker::Owner>)>,
    ) -> Result<Owner> {
        let api = library.api();
        let mut domain = ptr::null_mut();
        // SAFETY: the pointer is to a local variable.
        let code = unsafe { (api.doca_urom_domain_create)(&mut domain) };
        check(code, || "creating a domain")?;
        let domain = non_null(domain, "creating a domain")?;
        // SAFETY: the domain was just created.
        let ctx = unsafe { (api.doca_urom_domain_as_ctx)(domain.as_ptr()) };
        let ctx = non_null(ctx, "creating a domain")?;
        // SAFETY: the context is the domain's, which is destroyed right before this is dropped.
        let handle = unsafe { ContextHandle::new(library, ctx, "a domain") };
        let context = Context { handle, domain, engine, exchange, workers };
        let owner = Owner { context: NonNull::from(Box::leak(Box::new(context))) };
        owner.workers.iter().for_each(|(_, worker)| worker.domains.set(worker.domains.get() + 1));
        let data = Data { ptr: owner.context.as_ptr().cast::<c_void>() };
        owner.register(&owner.engine, data, on_state_changed)?;
        Ok(owner)
    }
}

impl Deref for Owner {
    type Target = Context;

    fn deref(&self) -> &Context {
        // SAFETY: the context is freed by this owner's `drop` and by nothing else; nobody ever has it mutably.
        unsafe { self.context.as_ref() }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let again = || Owner { context: self.context };
        if thread::in_callback() {
            return thread::bury(again());
        }
        let is_idle = self.stop_within(DROP_WAIT).unwrap_or_else(|error| {
            tracing::warn!("{error}");
            true
        });
        if !is_idle {
            // When the clone goes and was the last handle but for those of the leaving, it waits.
            return self.engine.clone().keep(Box::new(again()));
        }
        if !self.destroy() {
            // The library has the context for ever, with its workers and its engine.
            return self.engine.forget_handle();
        }
        self.workers.iter().for_each(|(_, worker)| worker.domains.set(worker.domains.get() - 1));
        // SAFETY: the domain is destroyed, so no callback reaches the context any more, and it came from a `Box`.
        drop(unsafe { Box::from_raw(self.context.as_ptr()) });
    }
}

impl Leaver for Owner {
    fn ctx(&self) -> NonNull<Ctx> {
        self.handle.ctx()
    }

    fn is_idle(&self) -> bool {
        self.handle.is_idle()
    }

    fn handles(&self) -> usize {
        // Workers that nobody else has are stopped with the domain.
        let own = |worker: &Rc<worker::Owner>| {
            Rc::strong_count(worker) == 1 && worker.engine.is_same(&self.engine)
        };
        1 + self.workers.iter().filter(|(_, worker)| own(worker)).count()
    }

    fn stay_behind(self: Box<Self>) {
        tracing::warn!("{} did not stop within {LEAVE_LIMIT:?} and stays behind", self.name());
        // The library has the context for ever, with its workers and its engine.
        self.engine.forget_handle();
        std::mem::forget(*self);
    }
}
