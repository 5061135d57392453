//! The owner of a context. The library's callbacks use the context, so its address is fixed.

use std::cell::RefCell;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::time::Duration;

use urom_abi::DocaError;
use urom_abi::host::{Ctx, CtxState, Data};
use urom_os::fork::Maker;

use crate::callback;
use crate::context::{Context, ObjectKind};
use crate::engine::ProgressEngine;
use crate::error::{Result, check};
use crate::library::{get, non_null};
use crate::wait;

/// How long the drop waits for a context that can be left to its engine.
const DROP_WAIT: Duration = Duration::from_millis(100);

/// The limit for any other stop. A lost peer is detected in half that time.
pub(crate) const LEAVE_LIMIT: Duration = Duration::from_secs(10);

pub(crate) struct Owner<K: ObjectKind>(NonNull<Context<K>>);

impl<K: ObjectKind> Owner<K> {
    pub(crate) fn create(engine: ProgressEngine, kind: K) -> Result<Owner<K>> {
        let library = engine.library();
        let (api, what) = (library.api(), || format!("creating {}", K::KIND));
        let (create, as_ctx, _) = K::functions(api);
        // SAFETY: the library writes one pointer to the variable that `get` passes.
        let object = get(ptr::null_mut(), what, |object| unsafe { create(object) })?;
        let object = non_null(object, what)?;
        // SAFETY: the object was just created.
        let ctx = non_null(unsafe { as_ctx(object.as_ptr()) }, what)?;
        let watchers = RefCell::default();
        let maker = Maker::here();
        let context = Context { maker, library, engine, object, ctx, watchers, kind };
        let owner = Owner(NonNull::from(Box::leak(Box::new(context))));
        // SAFETY: the context is live, and the engine belongs to this thread.
        unsafe { owner.engine.core().connect(ctx) }?;
        let data = Data { ptr: owner.0.as_ptr().cast() };
        // SAFETY: the context was created above, and only `owner`'s drop destroys it.
        check(unsafe { (api.doca_ctx_set_user_data)(ctx.as_ptr(), data) }, what)?;
        let callback = Some(on_state_changed::<K> as _);
        // SAFETY: the context is live, and the callback takes the data just set.
        check(unsafe { (api.doca_ctx_set_state_changed_cb)(ctx.as_ptr(), callback) }, what)?;
        Ok(owner)
    }

    fn give_back_context(&self) -> Result<(), DocaError> {
        if let Err(error) = self.stop() {
            tracing::warn!("{error}");
        }
        let limit = if K::can_leave(self) { DROP_WAIT } else { LEAVE_LIMIT };
        if !wait::wait_until(limit, || self.is_idle()) {
            return K::leave(self);
        }
        let (_, _, destroy) = K::functions(self.library.api());
        // SAFETY: the owner is being dropped, so it is the only user. The library refuses to
        // destroy a context that is not idle.
        callback::calling(|| unsafe { destroy(self.object()) }).check()
    }
}

unsafe extern "C" fn on_state_changed<K: ObjectKind>(
    data: Data,
    _ctx: *mut Ctx,
    _previous: CtxState,
    next: CtxState,
) {
    callback::guard(|| {
        // SAFETY: the context's data is the pointer set by `Owner::create`, or NULL before.
        let pointer = unsafe { data.ptr };
        if let Some(context) = NonNull::new(pointer.cast::<Context<K>>()) {
            // SAFETY: the pointer comes from an `Owner<K>`, which frees the context only after the
            // library has destroyed it.
            let context = unsafe { context.as_ref() };
            K::state_changed(context, next);
            let watchers = context.watchers.take();
            watchers.into_iter().for_each(|waker| callback::guard(|| waker.wake()));
        }
    });
}

impl<K: ObjectKind> Deref for Owner<K> {
    type Target = Context<K>;

    fn deref(&self) -> &Context<K> {
        // SAFETY: only this owner's `drop` frees the context, which is never borrowed mutably.
        unsafe { self.0.as_ref() }
    }
}

impl<K: ObjectKind> Drop for Owner<K> {
    fn drop(&mut self) {
        if !self.maker.is_here() {
            // The library's object belongs to the parent, so the context is leaked.
            return;
        }
        if callback::is_running() {
            return callback::drop_later(Owner(self.0));
        }
        if let Err(code) = self.give_back_context() {
            // The library still uses the context, so it is leaked.
            return tracing::warn!("{} did not stop and stays behind: {code}", self.name());
        }
        // SAFETY: the library has destroyed its object, so no callback uses the context; it came
        // from a `Box`.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}
