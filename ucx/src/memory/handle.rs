//! A registration of memory, and the handle by which a buffer names it.

use std::ptr;

use ucx_sys as sys;

use crate::context::Context;
use crate::status::{Result, check};

/// A registration, for the [`Buffer`](crate::Buffer)s that lie in it: `ucp_mem_h`.
#[derive(Clone, Copy)]
pub struct MemoryHandle<'a> {
    pub(super) mapping: &'a Mapping,
}

impl MemoryHandle<'_> {
    /// The handle, for UCX calls in this context only: a handle of another context means nothing
    /// there.
    #[inline]
    pub(crate) fn within(self, context: &Context) -> Option<sys::ucp_mem_h> {
        // Both contexts live, so no two have one address.
        (self.mapping.context.raw() == context.raw()).then_some(self.mapping.raw)
    }
}

debug_fields!(MemoryHandle<'_>, |_| {});

/// What `ucp_mem_map` made, undone by `ucp_mem_unmap`.
pub(super) struct Mapping {
    pub(super) raw: sys::ucp_mem_h,
    pub(super) context: Context,
}

impl Mapping {
    pub(super) fn new(
        context: &Context,
        params: &sys::ucp_mem_map_params_t,
        what: String,
    ) -> Result<Mapping> {
        let mut raw = ptr::null_mut();
        // SAFETY: the context is live, the mask names what is set.
        check(unsafe { sys::ucp_mem_map(context.raw(), params, &mut raw) }, what)?;
        Ok(Mapping { raw, context: context.clone() })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped in this context, which lives, and unmapped once. Requests on it hold it
        // alive.
        unsafe { sys::ucp_mem_unmap(self.context.raw(), self.raw) };
    }
}
