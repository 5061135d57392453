//! UCX's functions for exported memory, without an RDMA device. Each has UCX's contract.

use std::collections::BTreeSet;
use std::ffi::{c_uint, c_void};
use std::mem::offset_of;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use crate::arena::ARENA;
use crate::handle::{HANDLE_LEN, MemoryHandle};
use crate::import::Import;
use crate::note::note;
use crate::peek::peek;
use crate::real;
use crate::start;
use crate::ucp_types::{
    ATTRIBUTE_ADDRESS, ATTRIBUTE_LENGTH, Attributes, MAP_ADDRESS, MAP_EXPORTED, MAP_LENGTH,
    MapParams, NO_MEMORY, OK, PACK_EXPORT, PACK_FLAGS, PackParams, Status, UNREACHABLE,
    UNSUPPORTED,
};

/// `ucp_params_t` begins with mask and features. The rest depends on the release.
const PARAMS_WORDS: usize = 32;
const PARAM_FEATURES: u64 = 1;
pub(crate) const FEATURE_EXPORTED_MEMH: u64 = 1 << 7;

/// Buffers of exported handles that are not released yet.
static PACKED: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

fn guarded<R>(otherwise: R, f: impl FnOnce() -> R) -> R {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or(otherwise)
}

fn no_ucx(function: &str) -> Status {
    note!("{function}: this process lacks UCX; link it with libucp");
    UNSUPPORTED
}

/// UCX's function, without the feature EXPORTED_MEMH.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn ucp_init_version(
    major: c_uint,
    minor: c_uint,
    params: *const c_void,
    config: *const c_void,
    context: *mut *mut c_void,
) -> Status {
    guarded(UNSUPPORTED, || {
        start::say_once();
        let Some(function) = real::ucp_init_version() else { return no_ucx("ucp_init_version") };
        let mut words = [0u64; PARAMS_WORDS];
        let params = if start::is_emulating() && strip(params, &mut words) {
            words.as_ptr().cast()
        } else {
            params
        };
        // SAFETY: the arguments are the caller's; the copy has all of the parameters.
        unsafe { function(major, minor, params, config, context) }
    })
}

/// Copies the parameters without EXPORTED_MEMH. Returns false if they do not request it, or request
/// only it: UCX warns about a context without features.
fn strip(params: *const c_void, copy: &mut [u64; PARAMS_WORDS]) -> bool {
    // The length depends on the release, so the copy may include bytes after the parameters.
    match peek(params.addr(), bytemuck::bytes_of_mut(copy)) {
        Ok(read) => {
            let asks = copy[0] & PARAM_FEATURES != 0 && copy[1] & FEATURE_EXPORTED_MEMH != 0;
            copy[1] &= !FEATURE_EXPORTED_MEMH;
            asks && copy[1] != 0 && read >= 16
        }
        Err(error) => {
            note!("ucp_init: EXPORTED_MEMH cannot be taken off the features: {error}");
            false
        }
    }
}

/// UCX's function. Packs memory of the arena for export.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn ucp_memh_pack(
    memh: *mut c_void,
    params: *const PackParams,
    buffer: *mut *mut c_void,
    size: *mut usize,
) -> Status {
    guarded(UNSUPPORTED, || {
        // SAFETY: the caller passes null or valid parameters.
        let exports = unsafe { params.as_ref() }.is_some_and(|params| {
            params.field_mask & PACK_FLAGS != 0 && params.flags & PACK_EXPORT != 0
        });
        if !exports || !start::is_emulating() {
            let Some(function) = real::ucp_memh_pack() else { return no_ucx("ucp_memh_pack") };
            // SAFETY: the program called UCX with these arguments, and UCX gets them unchanged.
            return unsafe { function(memh, params, buffer, size) };
        }
        // SAFETY: the program passes a handle that UCX mapped.
        let packed = match unsafe { export(memh) } {
            Ok(packed) => packed,
            Err(status) => return status,
        };
        // A malloc block: some programs release it with free().
        let block = crate::malloc::malloc(HANDLE_LEN);
        if block.is_null() {
            return NO_MEMORY;
        }
        // SAFETY: the new block has this length and is not shared.
        unsafe { ptr::copy_nonoverlapping(packed.as_ptr(), block.cast(), HANDLE_LEN) };
        PACKED.lock().unwrap_or_else(PoisonError::into_inner).insert(block.addr());
        // SAFETY: the program passes a valid pointer for the buffer, as UCX's header demands.
        unsafe { buffer.write(block) };
        // SAFETY: the program passes a valid pointer for the length, as UCX's header demands.
        unsafe { size.write(HANDLE_LEN) };
        OK
    })
}

/// # Safety
/// The handle is UCX's.
unsafe fn export(memh: *mut c_void) -> Result<[u8; HANDLE_LEN], Status> {
    let Some(query) = real::ucp_mem_query() else { return Err(no_ucx("ucp_memh_pack")) };
    let mut found = Attributes {
        field_mask: ATTRIBUTE_ADDRESS | ATTRIBUTE_LENGTH,
        address: ptr::null_mut(),
        length: 0,
        mem_type: 0,
    };
    // SAFETY: the program passes a handle that UCX mapped; `found` outlives the call.
    match unsafe { query(memh, &raw mut found) } {
        OK => {}
        status => return Err(status),
    }
    let (address, length) = (found.address.addr(), found.length);
    let Some(arena) = ARENA.identity() else {
        note!(
            "ucp_memh_pack: nothing can be exported: this process lacks an arena, or has closed its \
             descriptor"
        );
        return Err(UNSUPPORTED);
    };
    let offset = address.wrapping_sub(arena.base);
    if length == 0 || offset >= arena.size || length > arena.size - offset {
        note!(
            "ucp_memh_pack: the {length} bytes at {address:#x} cannot be exported: only memory of \
             malloc() can, in blocks of at least {} bytes (variable {}), not stacks, globals or \
             what UCX allocated",
            start::threshold(),
            start::THRESHOLD,
        );
        return Err(UNSUPPORTED);
    }
    Ok(MemoryHandle { address, length, arena, pid: std::process::id() }.pack())
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn ucp_memh_buffer_release(
    buffer: *mut c_void,
    params: *const c_void,
) {
    guarded((), || {
        if PACKED.lock().unwrap_or_else(PoisonError::into_inner).remove(&buffer.addr()) {
            // SAFETY: `ucp_memh_pack` allocated it, and its first release removed it from `PACKED`.
            unsafe { crate::malloc::free(buffer) };
        } else if let Some(function) = real::ucp_memh_buffer_release() {
            // SAFETY: the buffer is not in `PACKED`, so it is UCX's.
            unsafe { function(buffer, params) };
        }
    });
}

/// UCX's function. Imports only handles of this emulation.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn ucp_mem_map(
    context: *mut c_void,
    params: *const MapParams,
    memh: *mut *mut c_void,
) -> Status {
    guarded(UNREACHABLE, || {
        let Some(function) = real::ucp_mem_map() else { return no_ucx("ucp_mem_map") };
        // Only fields in the mask exist: structures of older releases are shorter.
        // SAFETY: the caller's parameters are null or begin with the mask.
        let mask = if params.is_null() { 0 } else { unsafe { params.cast::<u64>().read() } };
        if mask & MAP_EXPORTED == 0 || !start::is_emulating() {
            // SAFETY: the program called UCX with these arguments, and UCX gets them unchanged.
            return unsafe { function(context, params, memh) };
        }
        let field = params.wrapping_byte_add(offset_of!(MapParams, exported_memh_buffer));
        // SAFETY: by the mask, the caller's parameters have this field.
        let exported = unsafe { field.cast::<*const c_void>().read() };
        let (handle, import) = match import(exported) {
            Ok(imported) => imported,
            Err(why) => {
                note!("ucp_mem_map: no memory is imported: {why}");
                return UNREACHABLE;
            }
        };
        let ordinary = MapParams {
            field_mask: MAP_ADDRESS | MAP_LENGTH,
            address: ptr::with_exposed_provenance_mut(handle.address),
            length: handle.length,
            flags: 0,
            prot: 0,
            memory_type: 0,
            exported_memh_buffer: ptr::null(),
        };
        // SAFETY: `context` and `memh` are the caller's; the range is accessible.
        let status = unsafe { function(context, &raw const ordinary, memh) };
        if status == OK {
            // SAFETY: UCX has just written it.
            import.keep(unsafe { memh.read() });
        }
        status
    })
}

fn import(exported: *const c_void) -> Result<(MemoryHandle, Import), String> {
    let mut bytes = [0; HANDLE_LEN];
    let read = peek(exported.addr(), &mut bytes);
    let read = read.map_err(|error| format!("the handle's bytes cannot be read: {error}"))?;
    let handle = MemoryHandle::unpack(&bytes[..read])?;
    let import = Import::new(&handle)?;
    Ok((handle, import))
}

/// UCX's function. Also unmaps the range of a handle.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn ucp_mem_unmap(context: *mut c_void, memh: *mut c_void) -> Status {
    guarded(UNSUPPORTED, || {
        let Some(function) = real::ucp_mem_unmap() else { return no_ucx("ucp_mem_unmap") };
        // First, because after the call UCX may reuse the address for another registration.
        let import = Import::of(memh);
        // SAFETY: the program called UCX with these arguments, and UCX gets them unchanged.
        let status = unsafe { function(context, memh) };
        match import {
            Some(import) if status != OK => import.keep(memh),
            _ => {}
        }
        status
    })
}

/// UCX's function, but it ignores null: NVIDIA's RDMO plugin releases the null request of an
/// endpoint close that completed immediately.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn ucp_request_release(request: *mut c_void) {
    guarded((), || {
        let skips = request.is_null() && start::is_emulating();
        if let Some(function) = real::ucp_request_release()
            && !skips
        {
            // SAFETY: the program called UCX with this request, and UCX gets it unchanged.
            unsafe { function(request) };
        }
    });
}

#[cfg(test)]
#[path = "ucp_tests.rs"]
mod tests;
