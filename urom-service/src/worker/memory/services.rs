//! The worker's functions for hosts' memory, as plugins call them.

use std::ffi::c_void;
use std::ptr::NonNull;

use urom_abi::DocaError;
use urom_abi::host_memory::{HostMemory, MemoryOperation};
use urom_abi::plugin::WorkerCtx;
use urom_log::{guard, guard_or};

use crate::worker::services::{Desk, at_desk};

pub(crate) unsafe extern "C" fn open_memory(
    ctx: *mut WorkerCtx,
    dest_id: u64,
    memory: u64,
    offset: u64,
    len: u64,
    opened: *mut HostMemory,
) -> DocaError {
    guard(|| {
        let opened = NonNull::new(opened).ok_or(DocaError::INVALID_VALUE)?;
        // SAFETY: the plugin's place, which begins with its size.
        let size = unsafe { opened.cast::<usize>().read() };
        if size < size_of::<HostMemory>() {
            return Err(DocaError::INVALID_VALUE);
        }
        let open = |desk: &Desk| Some(desk.memories.open(dest_id, memory, offset, len));
        // SAFETY: the plugin's promise.
        let found = unsafe { at_desk(ctx, open) }.ok_or(DocaError::BAD_STATE)??;
        // SAFETY: the plugin's place, as long as its size says.
        unsafe { opened.write(HostMemory { size, ..found }) };
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn run_memory(
    ctx: *mut WorkerCtx,
    handle: *mut c_void,
    operation: *mut MemoryOperation,
) -> DocaError {
    guard(|| {
        let operation = NonNull::new(operation).ok_or(DocaError::INVALID_VALUE)?;
        // SAFETY: the plugin's operation, which begins with its size.
        let size = unsafe { operation.cast::<usize>().read() };
        if size < size_of::<MemoryOperation>() {
            return Err(DocaError::INVALID_VALUE);
        }
        // SAFETY: the plugin's promises.
        let run = |desk: &Desk| Some(unsafe { desk.memories.run(handle, operation) });
        // SAFETY: the plugin's promise.
        let ran = unsafe { at_desk(ctx, run) }.unwrap_or(Err(DocaError::BAD_STATE));
        let status = ran.err().unwrap_or(DocaError::SUCCESS);
        if status != DocaError::IN_PROGRESS {
            // SAFETY: it has ended, and is the plugin's alone.
            unsafe { (*operation.as_ptr()).status = status };
        }
        ran
    })
}

pub(crate) unsafe extern "C" fn keep_memory(ctx: *mut WorkerCtx, handle: *mut c_void) {
    guard_or((), || {
        // SAFETY: the plugin's promise.
        unsafe { at_desk(ctx, |desk| desk.memories.keep(handle)) };
    });
}

pub(crate) unsafe extern "C" fn close_memory(ctx: *mut WorkerCtx, handle: *mut c_void) {
    guard_or((), || {
        // SAFETY: the plugin's promise.
        unsafe { at_desk(ctx, |desk| desk.memories.close_one(handle)) };
    });
}
