//! The worker's functions for hosts' memory, as the plugin calls them.

use std::ffi::c_void;
use std::ptr::NonNull;

use urom_abi::DocaError;
use urom_abi::host_memory::{HostMemory, MemoryOperation};
use urom_abi::memory::MemoryRange;
use urom_abi::plugin::WorkerCtx;

use super::super::services::services;
use crate::guard::guard;

pub(super) unsafe extern "C" fn open_memory(
    ctx: *mut WorkerCtx,
    dest_id: u64,
    memory: u64,
    offset: u64,
    len: u64,
    opened: *mut HostMemory,
) -> DocaError {
    guard("open_memory", DocaError::UNEXPECTED, || {
        // SAFETY: the context that the services were attached with, on its thread.
        let memories = unsafe { &services(ctx).memories };
        match memories.open(dest_id, MemoryRange { memory, offset, len }) {
            Ok(found) => {
                // SAFETY: the plugin's place for it.
                unsafe { opened.write(found) };
                DocaError::SUCCESS
            }
            Err(code) => code,
        }
    })
}

pub(super) unsafe extern "C" fn run_memory(
    ctx: *mut WorkerCtx,
    handle: *mut c_void,
    operation: *mut MemoryOperation,
) -> DocaError {
    guard("run_memory", DocaError::UNEXPECTED, || {
        let Some(place) = NonNull::new(operation) else { return DocaError::INVALID_VALUE };
        // SAFETY: the context that the services were attached with, on its thread.
        let memories = unsafe { &services(ctx).memories };
        // SAFETY: the plugin's promises.
        let code = unsafe { memories.run(handle, place) }.err().unwrap_or(DocaError::SUCCESS);
        if code != DocaError::IN_PROGRESS {
            // SAFETY: it has ended, and is the plugin's alone.
            unsafe { (*operation).status = code };
        }
        code
    })
}

pub(super) unsafe extern "C" fn keep_memory(ctx: *mut WorkerCtx, handle: *mut c_void) {
    // SAFETY: the context that the services were attached with, on its thread.
    guard("keep_memory", (), || unsafe { services(ctx) }.memories.keep(handle));
}

pub(super) unsafe extern "C" fn close_memory(ctx: *mut WorkerCtx, handle: *mut c_void) {
    // SAFETY: the context that the services were attached with, on its thread.
    guard("close_memory", (), || unsafe { services(ctx) }.memories.close(handle));
}
