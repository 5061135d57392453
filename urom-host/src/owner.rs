//! The owner of a worker's or a domain's context.
//!
//! The context has a fixed address, because the library's callbacks use it, also while its owner is
//! being dropped.

use std::ffi::c_void;
use std::ops::Deref;
use std::ptr::NonNull;

use urom_abi::DocaError;
use urom_abi::host::{Ctx, CtxState, Data};

use crate::callback;
use crate::context::ContextHandle;
use crate::engine::ProgressEngine;
use crate::engine::leaving::{LEAVE_LIMIT, Leaver};
use crate::error::Result;

/// A context with everything that must live as long as it.
pub(crate) trait Owned: Deref<Target = ContextHandle> + 'static {
    fn engine(&self) -> &ProgressEngine;

    /// Its name in error messages.
    fn name(&self) -> String;

    /// Runs inside progress, start or stop, before the watchers of the state are woken.
    fn state_changed(&self, _next: CtxState) {}

    /// Stops the context, and waits a moment until it is idle; `false` when it is not.
    fn stop_to_drop(&self) -> bool;

    /// Destroys the context in the library, which refuses to while the context is not idle.
    ///
    /// # Safety
    /// Nobody but the caller uses the context.
    unsafe fn destroy(&self) -> DocaError;

    /// Runs after the context was destroyed and before this is dropped.
    fn destroyed(&self) {}

    /// How many handles of its engine are dropped with this.
    fn handles(&self) -> usize {
        1
    }
}

/// Stops, destroys and frees its context when dropped, or leaves that to the context's engine.
pub(crate) struct Owner<C: Owned> {
    context: NonNull<C>,
}

impl<C: Owned> Owner<C> {
    pub(crate) fn new(context: C) -> Owner<C> {
        Owner { context: NonNull::from(Box::leak(Box::new(context))) }
    }

    /// Connects the context to its engine, and the library's callbacks to the context.
    pub(crate) fn register(&self) -> Result<()> {
        let data = Data { ptr: self.context.as_ptr().cast::<c_void>() };
        ContextHandle::register(self, self.engine(), data, on_state_changed::<C>)
    }
}

unsafe extern "C" fn on_state_changed<C: Owned>(
    data: Data,
    _ctx: *mut Ctx,
    _previous: CtxState,
    next: CtxState,
) {
    callback::guard(|| {
        // SAFETY: the context's data is the pointer that `Owner::register` put there, or NULL
        // before.
        let pointer = unsafe { data.ptr };
        if let Some(context) = NonNull::new(pointer.cast::<C>()) {
            // SAFETY: the library has the pointer from an `Owner<C>`, which frees the context only
            // after it was destroyed in the library.
            let context = unsafe { context.as_ref() };
            context.state_changed(next);
            context.wake_watchers();
            if next == CtxState::IDLE {
                context.engine().core().leaving.is_idle(context.ctx());
            }
        }
    });
}

impl<C: Owned> Deref for Owner<C> {
    type Target = C;

    fn deref(&self) -> &C {
        // SAFETY: this owner's `drop` alone frees the context, and nobody ever has it mutably.
        unsafe { self.context.as_ref() }
    }
}

impl<C: Owned> Drop for Owner<C> {
    fn drop(&mut self) {
        let again = || Owner { context: self.context };
        if callback::is_running() {
            return callback::drop_later(again());
        }
        if !self.stop_to_drop() {
            // The drop of the clone waits when nobody else has a handle of the engine.
            return self.engine().clone().core().leaving.keep(Box::new(again()));
        }
        // SAFETY: the owner is being dropped, so nobody else uses the context.
        if let Err(code) = unsafe { self.destroy() }.check() {
            tracing::warn!("{} could not be destroyed and stays behind: {code}", self.name());
            // The library still uses the context, so it is leaked with all that it keeps.
            return self.engine().forget_handle();
        }
        self.destroyed();
        // SAFETY: the library has destroyed its part, so no callback reaches the context any more,
        // and it came from a `Box`.
        drop(unsafe { Box::from_raw(self.context.as_ptr()) });
    }
}

impl<C: Owned> Leaver for Owner<C> {
    fn ctx(&self) -> NonNull<Ctx> {
        (**self).ctx()
    }

    fn is_idle(&self) -> bool {
        (**self).is_idle()
    }

    fn handles(&self) -> usize {
        (**self).handles()
    }

    fn stay_behind(self: Box<Self>) {
        tracing::warn!("{} did not stop within {LEAVE_LIMIT:?} and stays behind", self.name());
        // The library still uses the context, so it is leaked with all that it keeps.
        self.engine().forget_handle();
        std::mem::forget(*self);
    }
}
