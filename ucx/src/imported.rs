//! Memory of another process that a device reaches as if it were this one's.

use std::ffi::c_void;
use std::ptr;
use std::rc::Rc;

use ucx_sys as sys;

use crate::context::{Context, void};
use crate::features::Features;
use crate::status::{Result, Status, check};
use crate::zeroed::Zeroed;

/// What [`Memory::export`](crate::Memory::export) described, imported: `ucp_mem_map` with an
/// exported handle. A device can write to it by the owner's addresses; this process cannot.
///
/// [`Rendezvous::recv_imported`](crate::Rendezvous::recv_imported) receives into it.
#[derive(Clone)]
pub struct Imported {
    mapping: Rc<Mapping>,
    address: u64,
    length: u64,
}

struct Mapping {
    raw: sys::ucp_mem_h,
    context: Context,
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped in this context, which lives, and unmapped once. Requests on it hold it
        // alive.
        unsafe { sys::ucp_mem_unmap(self.context.raw(), self.raw) };
    }
}

impl Imported {
    /// Imports `length` bytes that their owner has at `address`.
    ///
    /// # Errors
    ///
    /// `UNSUPPORTED` without [`Features::EXPORTED_MEMH`], `UNREACHABLE` if no device of this
    /// process reaches the memory, `INVALID_PARAM` for no bytes or an address range that wraps
    /// around; otherwise UCX's error.
    ///
    /// # Safety
    ///
    /// [`Memory::export`](crate::Memory::export), or `ucp_memh_pack` in C, made the bytes, and all
    /// of them are here: UCX reads them without a length. The owner keeps so much memory registered
    /// there until this value and its requests are gone.
    pub unsafe fn open(
        context: &Context,
        exported: &[u8],
        address: u64,
        length: u64,
    ) -> Result<Imported> {
        let what = || format!("importing an exported memory handle of {} bytes", exported.len());
        context.require(Features::EXPORTED_MEMH, "importing memory")?;
        if exported.is_empty() || address.checked_add(length).is_none() {
            return Err(Status::INVALID_PARAM.during(what()));
        }
        let mut params = sys::ucp_mem_map_params_t::zeroed();
        params.field_mask = sys::UCP_MEM_MAP_PARAM_FIELD_EXPORTED_MEMH_BUFFER.into();
        params.exported_memh_buffer = void(exported.as_ptr());
        let mut raw = ptr::null_mut();
        // SAFETY: the context is live, the mask names what is set, and the bytes are a handle, as
        // the caller promises.
        check(unsafe { sys::ucp_mem_map(context.raw(), &params, &mut raw) }, what())?;
        let mapping = Rc::new(Mapping { raw, context: context.clone() });
        Ok(Imported { mapping, address, length })
    }

    /// The place of `length` bytes at `offset` for UCX, and the handle that goes with it.
    pub(crate) fn at(
        &self,
        context: &Context,
        offset: u64,
        length: usize,
    ) -> std::result::Result<(*mut c_void, sys::ucp_mem_h), Status> {
        if self.mapping.context.raw() != context.raw() {
            return Err(Status::INVALID_PARAM);
        }
        if offset.checked_add(length as u64).is_none_or(|end| end > self.length) {
            return Err(Status::OUT_OF_RANGE);
        }
        let address = usize::try_from(self.address + offset).map_err(|_| Status::OUT_OF_RANGE)?;
        // The owner's address: nobody here dereferences it.
        Ok((ptr::without_provenance_mut(address), self.mapping.raw))
    }

    /// What requests keep alive.
    pub(crate) fn keep(&self) -> Rc<dyn std::any::Any> {
        Rc::clone(&self.mapping) as Rc<dyn std::any::Any>
    }
}

debug_fields!(Imported, |it| { address: it.address, len: it.length });
