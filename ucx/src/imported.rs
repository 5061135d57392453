//! Memory of another process that a device can access.

use std::any::Any;
use std::ffi::{CStr, c_void};
use std::ops::Range;
use std::path::Path;
use std::ptr;
use std::rc::Rc;

use ucx_sys::{self as sys, Zeroed};

use crate::context::{Context, void};
use crate::features::{Features, has_rdma_device};
use crate::ranges::Ranges;
use crate::status::{Result, Status, check};

/// Memory imported from a [`Memory::export`](crate::Memory::export) handle: `ucp_mem_map` with an
/// exported handle. A device can write to it by the owner's addresses; this process cannot.
///
/// [`Rendezvous::recv_imported`](crate::Rendezvous::recv_imported) receives into it.
#[derive(Clone)]
pub struct Imported {
    mapping: Rc<ImportedMapping>,
    address: u64,
    length: u64,
    ranges: Ranges,
}

const UCX: &str = "libucp.";

struct ImportedMapping {
    raw: sys::ucp_mem_h,
    context: Context,
}

impl Drop for ImportedMapping {
    fn drop(&mut self) {
        // SAFETY: mapped in this live context, and unmapped once, after all its requests.
        unsafe { sys::ucp_mem_unmap(self.context.raw(), self.raw) };
    }
}

impl Imported {
    /// Returns whether an RDMA device or emulated `ucp_mem_map` exists: else UCX could abort.
    #[must_use]
    pub fn is_possible() -> bool {
        has_rdma_device() || is_interposed()
    }

    /// Imports all memory that a handle describes.
    ///
    /// # Errors
    /// Same as [`open`](Imported::open).
    ///
    /// # Safety
    /// Same as [`open`](Imported::open).
    pub unsafe fn open_all(context: &Context, exported: &[u8]) -> Result<Imported> {
        // SAFETY: the caller's promise is the same.
        let imported = unsafe { Imported::open(context, exported, 0, 0) }?;
        let mut attributes = sys::ucp_mem_attr_t::zeroed();
        attributes.field_mask =
            u64::from(sys::UCP_MEM_ATTR_FIELD_ADDRESS | sys::UCP_MEM_ATTR_FIELD_LENGTH);
        // SAFETY: the memory is mapped, and the mask limits what UCX writes.
        let status = unsafe { sys::ucp_mem_query(imported.mapping.raw, &mut attributes) };
        check(status, "asking what an exported memory handle describes")?;
        let (address, length) = (attributes.address.addr() as u64, attributes.length as u64);
        if address.checked_add(length).is_none() {
            return Err(Status::INVALID_PARAM.during("importing memory that wraps around"));
        }
        Ok(Imported { address, length, ..imported })
    }

    /// Returns the start address in the owner's process.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Returns the length in bytes.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "an import has a length")]
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Imports `length` bytes at the owner's `address`.
    ///
    /// # Errors
    /// `UNSUPPORTED` without [`Features::EXPORTED_MEMH`], `UNREACHABLE` if no device reaches the
    /// memory, `INVALID_PARAM` for an empty or wrapping address range; otherwise UCX's error.
    ///
    /// # Safety
    /// The bytes are the complete result of [`Memory::export`](crate::Memory::export) or
    /// `ucp_memh_pack`. The owner keeps the memory registered until this value and its requests are
    /// dropped.
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
        // SAFETY: the context is live, the mask names the set fields, and the bytes are a handle.
        check(unsafe { sys::ucp_mem_map(context.raw(), &params, &mut raw) }, what())?;
        let mapping = Rc::new(ImportedMapping { raw, context: context.clone() });
        Ok(Imported { mapping, address, length, ranges: Ranges::default() })
    }

    /// Returns the address of `length` bytes at `offset` for UCX, and their handle.
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
        // The owner's address, never dereferenced here.
        Ok((ptr::without_provenance_mut(address), self.mapping.raw))
    }

    /// Like [`at`](Imported::at), for a request that keeps the borrow. `BUSY` on a conflict.
    pub(crate) fn take(
        &self,
        context: &Context,
        range: Range<u64>,
        reads: bool,
    ) -> std::result::Result<(*mut c_void, sys::ucp_mem_h, Rc<dyn Any>), Status> {
        let length = range.end.checked_sub(range.start).ok_or(Status::OUT_OF_RANGE)? as usize;
        let (start, handle) = self.at(context, range.start, length)?;
        let range = range.start as usize..range.end as usize;
        let borrow = self.ranges.take(range, reads).ok_or(Status::BUSY)?;
        Ok((start, handle, Rc::new((Rc::clone(&self.mapping), borrow))))
    }

    pub(crate) fn keep(&self) -> Rc<dyn Any> {
        Rc::clone(&self.mapping) as Rc<dyn Any>
    }
}

fn is_interposed() -> bool {
    let mut info = libc::Dl_info {
        dli_fname: ptr::null(),
        dli_fbase: ptr::null_mut(),
        dli_sname: ptr::null(),
        dli_saddr: ptr::null_mut(),
    };
    let function = sys::ucp_mem_map as *const c_void;
    // SAFETY: the loader only reads the address, and `info` is writable.
    let found = unsafe { libc::dladdr(function, &mut info) };
    if found == 0 || info.dli_fname.is_null() {
        return false;
    }
    // SAFETY: the C string of a library that stays loaded.
    let file = unsafe { CStr::from_ptr(info.dli_fname) }.to_string_lossy().into_owned();
    let name = Path::new(&file).file_name().unwrap_or_default().to_string_lossy();
    !name.starts_with(UCX)
}

debug_fields!(Imported, |it| { address: it.address, len: it.length });
