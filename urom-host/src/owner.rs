//! The owner of a context.
//!
//! The context has a fixed address, because the library's callbacks use it, also while its owner is
//! being dropped.

use std::cell::RefCell;
use std::ops::Deref;
use std::ptr::{self, NonNull};

use urom_abi::host::{Ctx, CtxState, Data};
use urom_os::fork::Maker;

use crate::callback;
use crate::context::{Context, ObjectKind};
use crate::engine::ProgressEngine;
use crate::engine::leaving::{DROP_WAIT, LEAVE_LIMIT, Leaver};
use crate::error::{Result, check};
use crate::library::{get, non_null};
use crate::wait;

/// Stops, destroys and frees its context when dropped, or leaves that to the context's engine.
pub(crate) struct Owner<K: ObjectKind>(NonNull<Context<K>>);

impl<K: ObjectKind> Owner<K> {
    /// Creates an object of the engine's library, and connects its context to the engine.
    pub(crate) fn create(engine: ProgressEngine, kind: K) -> Result<Owner<K>> {
        let library = engine.library();
        let (api, what) = (library.api(), || format!("creating {}", K::KIND));
        let (create, as_ctx, _) = K::functions(api);
        // SAFETY: the library writes one pointer to the place that `get` gives.
        let object = get(ptr::null_mut(), what, |object| unsafe { create(object) })?;
        let object = non_null(object, what)?;
        // SAFETY: the object was just created.
        let ctx = non_null(unsafe { as_ctx(object.as_ptr()) }, what)?;
        let watchers = RefCell::default();
        let maker = Maker::here();
        let context = Context { maker, library, engine, object, ctx, watchers, kind };
        let owner = Owner(NonNull::from(Box::leak(Box::new(context))));
        // SAFETY: the context is live, and the engine is one of this thread.
        unsafe { owner.engine.core().connect(ctx) }?;
        let data = Data { ptr: owner.0.as_ptr().cast() };
        // SAFETY: the context was created above, and `owner` destroys it in its drop only.
        check(unsafe { (api.doca_ctx_set_user_data)(ctx.as_ptr(), data) }, what)?;
        let callback = Some(on_state_changed::<K> as _);
        // SAFETY: the context is live, and the callback takes the data just set.
        check(unsafe { (api.doca_ctx_set_state_changed_cb)(ctx.as_ptr(), callback) }, what)?;
        Ok(owner)
    }

    /// Stops the context, and waits a moment until it is idle; `false` when it is not.
    fn stop_to_drop(&self) -> bool {
        if let Err(error) = self.stop() {
            tracing::warn!("{error}");
        }
        wait::wait_until(DROP_WAIT, || self.is_idle())
    }
}

unsafe extern "C" fn on_state_changed<K: ObjectKind>(
    data: Data,
    ctx: *mut Ctx,
    _previous: CtxState,
    next: CtxState,
) {
    callback::guard(|| {
        // SAFETY: the context's data is the pointer that `Owner::create` put there, or NULL before.
        let pointer = unsafe { data.ptr };
        if let Some(context) = NonNull::new(pointer.cast::<Context<K>>()) {
            // SAFETY: the library has the pointer from an `Owner<K>`, which frees the context only
            // after it was destroyed in the library.
            let context = unsafe { context.as_ref() };
            K::state_changed(context, next);
            let watchers = context.watchers.take();
            watchers.into_iter().for_each(|waker| callback::guard(|| waker.wake()));
            if next == CtxState::IDLE {
                context.engine.core().leaving.is_idle(ctx);
            }
        }
    });
}

impl<K: ObjectKind> Deref for Owner<K> {
    type Target = Context<K>;

    fn deref(&self) -> &Context<K> {
        // SAFETY: this owner's `drop` alone frees the context, and nobody ever has it mutably.
        unsafe { self.0.as_ref() }
    }
}

impl<K: ObjectKind> Drop for Owner<K> {
    fn drop(&mut self) {
        if !self.maker.is_here() {
            // The library's part is the parent's, so the context is leaked with all that it keeps.
            return;
        }
        let again = || Owner(self.0);
        if callback::is_running() {
            return callback::drop_later(again());
        }
        if !self.stop_to_drop() {
            // The drop of the clone waits when nobody else has a handle of the engine.
            return self.engine.clone().core().leaving.keep(Box::new(again()));
        }
        let (_, _, destroy) = K::functions(self.library.api());
        // SAFETY: the owner is being dropped, so nobody else uses the context. The library refuses
        // to destroy one that is not idle.
        let code = callback::calling(|| unsafe { destroy(self.object()) });
        if let Err(code) = code.check() {
            tracing::warn!("{} could not be destroyed and stays behind: {code}", self.name());
            // The library still uses the context, so it is leaked with all that it keeps.
            return self.engine.forget_handle();
        }
        self.engine.core().deadlines().remove_worker(self.0.cast());
        // SAFETY: the library has destroyed its part, so no callback reaches the context any more,
        // and it came from a `Box`.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl<K: ObjectKind> Leaver for Owner<K> {
    fn ctx(&self) -> *mut Ctx {
        self.ctx.as_ptr()
    }

    fn handles(&self) -> usize {
        K::handles(self)
    }

    fn stay_behind(self: Box<Self>) {
        tracing::warn!("{} did not stop within {LEAVE_LIMIT:?} and stays behind", self.name());
        // The library still uses the context, so it is leaked with all that it keeps.
        self.engine.forget_handle();
        std::mem::forget(*self);
    }
}
