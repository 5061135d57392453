//! A context with its own part, as the functions of its kind use it.

use std::ops::Deref;
use std::rc::Rc;

use urom_abi::{DocaError, host};
use urom_wire::control::Failure;

use crate::handle::{borrow, withdraw};
use crate::pe::ctx::Context;
use crate::pe::ctx::advise::MmapAdvise;
use crate::pe::ctx::domain::Domain;
use crate::pe::ctx::service::Service;
use crate::pe::ctx::sync_event::SyncEvent;
use crate::pe::ctx::worker::Worker;

pub(super) struct Own<'a, T> {
    pub(super) ctx: &'a Context,
    own: &'a T,
}

impl<T> Deref for Own<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.own
    }
}

impl<T> Own<'_, T> {
    /// Configures an idle context, which keeps the failure of a refusal.
    pub(super) fn configure(
        &self,
        set: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), DocaError> {
        self.ctx.require_idle()?;
        set().map_err(|failure| self.ctx.fail(&failure))
    }

    /// Destroys the context if it is idle; `busy` is the code if not.
    pub(super) fn destroy(self, busy: DocaError) -> Result<(), DocaError> {
        self.ctx.require_idle().map_err(|_| busy)?;
        // SAFETY: the host gives its reference back; nothing of `self` is used below.
        let ctx: Rc<Context> = unsafe { withdraw(self.ctx.as_ctx()) }?;
        ctx.retire();
        Ok(())
    }
}

/// Functions that find the context behind a pointer of C to one of its kind.
macro_rules! own {
    ($($kind:ident: $pointer:ident => $part:ty;)*) => {$(
        /// # Safety
        /// As [`borrow`].
        #[inline]
        pub(super) unsafe fn $kind<'a>(
            pointer: *const host::$pointer,
        ) -> Result<Own<'a, $part>, DocaError> {
            // SAFETY: the caller's promise.
            let ctx: &Context = unsafe { borrow(pointer) }?;
            Ok(Own { ctx, own: ctx.$kind()? })
        }
    )*};
}

own! {
    service: Service => Service;
    worker: Worker => Worker;
    domain: Domain => Domain;
    sync_event: SyncEvent => SyncEvent;
    mmap_advise: MmapAdvise => MmapAdvise;
}
