//! A context with its kind's own part.

use std::ops::Deref;
use std::rc::Rc;

use urom_abi::host::CtxState;
use urom_abi::{DocaError, host};

use crate::handle::{Opaque, borrow, withdraw};
use crate::pe::ctx::Context;
use crate::pe::ctx::advise::MmapAdvise;
use crate::pe::ctx::domain::Domain;
use crate::pe::ctx::service::Service;
use crate::pe::ctx::sync_event::SyncEvent;
use crate::pe::ctx::worker::Worker;

pub(crate) struct Own<'a, T> {
    pub(crate) ctx: &'a Context,
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
    /// Destroys the context if it is idle; otherwise fails with `busy`.
    pub(super) fn destroy(self, busy: DocaError) -> Result<(), DocaError> {
        self.ctx.require_idle().map_err(|_| busy)?;
        // SAFETY: the host returns its reference, and `self` is not used below.
        let ctx: Rc<Context> = unsafe { withdraw(self.ctx.as_ctx()) }?;
        ctx.retire();
        Ok(())
    }
}

impl Own<'_, Worker> {
    /// Destroys the worker, now or when it has stopped.
    pub(super) fn leave(self) -> Result<(), DocaError> {
        if self.ctx.require_idle().is_ok() {
            return self.destroy(DocaError::UNEXPECTED);
        }
        let may_leave = self.ctx.is(CtxState::STOPPING) && self.own.leave();
        may_leave.then(|| self.ctx.leave()).ok_or(DocaError::IN_USE)
    }
}

/// Implements `Opaque` for context kinds, with the context and its own part as result.
macro_rules! own {
    ($($opaque:ident)*) => {$(
        impl Opaque for host::$opaque {
            type Found<'a> = Own<'a, $opaque>;

            #[inline]
            unsafe fn find<'a>(pointer: *const Self) -> Result<Own<'a, $opaque>, DocaError> {
                // SAFETY: the caller's promise.
                let ctx: &Context = unsafe { borrow(pointer) }?;
                Ok(Own { ctx, own: ctx.part()? })
            }
        }
    )*};
}

own! {
    Service Worker Domain SyncEvent MmapAdvise
}
