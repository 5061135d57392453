//! The worker's C functions for plugins' access to hosts' memory.

use std::ffi::c_void;
use std::ptr::NonNull;

use urom_abi::extension::WorkerServices;
use urom_abi::host_memory::{HostMemory, MemoryOperation};
use urom_abi::memory::MemoryRange;
use urom_abi::plugin::WorkerCtx;
use urom_abi::{DocaError, DocaStatus};

use super::Shares;
use crate::error::Result;

pub trait Site {
    /// Runs `call`, the body of the function `name`, with the worker's memory, and catches panics.
    ///
    /// # Safety
    /// `ctx` is the context of the plugin that received the functions.
    unsafe fn serve(
        ctx: *mut WorkerCtx,
        name: &'static str,
        call: impl FnOnce(&Shares) -> Result<(), DocaError>,
    ) -> DocaStatus;
}

#[must_use]
pub fn functions<S: Site>(services: WorkerServices) -> WorkerServices {
    WorkerServices {
        open_memory: Some(open_memory::<S>),
        run_memory: Some(run_memory::<S>),
        keep_memory: Some(keep_memory::<S>),
        close_memory: Some(close_memory::<S>),
        ..services
    }
}

/// Returns a plugin's structure and its size; `INVALID_VALUE` if it is NULL or of an older release.
///
/// # Safety
/// `structure` is NULL or begins with its size.
unsafe fn sized<T>(structure: *mut T) -> Result<(NonNull<T>, usize), DocaError> {
    let structure = NonNull::new(structure).ok_or(DocaError::INVALID_VALUE)?;
    // SAFETY: the caller's promise.
    match unsafe { structure.cast::<usize>().read() } {
        size if size >= size_of::<T>() => Ok((structure, size)),
        _ => Err(DocaError::INVALID_VALUE),
    }
}

unsafe extern "C" fn open_memory<S: Site>(
    ctx: *mut WorkerCtx,
    dest_id: u64,
    memory: u64,
    offset: u64,
    len: u64,
    opened: *mut HostMemory,
) -> DocaStatus {
    let open = |shares: &Shares| {
        // SAFETY: the plugin's structure, whose first word is its size.
        let (structure, size) = unsafe { sized(opened) }?;
        let found = shares.open(dest_id, MemoryRange { memory, offset, len })?;
        // SAFETY: `sized` checked the length of the plugin's structure.
        unsafe { structure.write(HostMemory { size, ..found }) };
        Ok(())
    };
    // SAFETY: the plugin passes the context that it was attached with.
    unsafe { S::serve(ctx, "open_memory", open) }
}

unsafe extern "C" fn run_memory<S: Site>(
    ctx: *mut WorkerCtx,
    handle: *mut c_void,
    operation: *mut MemoryOperation,
) -> DocaStatus {
    // SAFETY: the plugin's operation, whose first word is its size.
    let structure = match unsafe { sized(operation) } {
        Ok((structure, _)) => structure,
        Err(code) => return code.into(),
    };
    // SAFETY: the plugin keeps the operation and its bytes until the operation has ended.
    let run = |shares: &Shares| unsafe { shares.run(handle, structure) };
    // SAFETY: the plugin passes the context that it was attached with.
    let code = unsafe { S::serve(ctx, "run_memory", run) };
    if code != DocaError::IN_PROGRESS {
        // SAFETY: the operation has ended, so only the plugin uses it.
        unsafe { (*structure.as_ptr()).status = code };
    }
    code
}

unsafe extern "C" fn keep_memory<S: Site>(ctx: *mut WorkerCtx, handle: *mut c_void) {
    // SAFETY: the plugin passes the context that it was attached with.
    unsafe { S::serve(ctx, "keep_memory", |shares| shares.keep(handle)) };
}

unsafe extern "C" fn close_memory<S: Site>(ctx: *mut WorkerCtx, handle: *mut c_void) {
    // SAFETY: the plugin passes the context that it was attached with.
    unsafe { S::serve(ctx, "close_memory", |shares| shares.close(handle)) };
}
