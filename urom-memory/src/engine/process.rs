//! [`Process`]: the path through the kernel, which copies memory of processes of the same user.

use std::io;
use std::ptr::NonNull;
use std::rc::Rc;

use libc::iovec;
use urom_abi::DocaError;
use urom_abi::host_memory::{MemoryAction, MemoryOperation, MemoryPath};

use super::{Path, Region};
use crate::error::Result;

#[derive(Debug)]
pub struct Process {
    process: i32,
    other: Option<Box<dyn Path>>,
}

impl Process {
    /// Makes the path to a process, after a test copy of the byte at `address`.
    ///
    /// # Errors
    /// `IO_FAILED` when the address is not mapped; other codes when the kernel refuses copies.
    pub fn new(process: i32, address: u64) -> Result<Process, DocaError> {
        let mut byte = 0_u8;
        // SAFETY: the byte is a local variable.
        unsafe { copy(process, MemoryAction::READ, address, &raw mut byte, 1) }?;
        Ok(Process { process, other: None })
    }

    #[must_use]
    pub fn with(self, other: Option<Box<dyn Path>>) -> Process {
        Process { other, ..self }
    }
}

impl Path for Process {
    fn kind(&self) -> MemoryPath {
        MemoryPath::PROCESS
    }

    unsafe fn run(
        &self,
        region: &Rc<Region>,
        at: u64,
        operation: NonNull<MemoryOperation>,
    ) -> Result<(), DocaError> {
        // SAFETY: the caller's operation, which is copied.
        let MemoryOperation { action, len, local, .. } = unsafe { operation.read() };
        match (action, &self.other) {
            (MemoryAction::READ | MemoryAction::WRITE, _) => {
                // SAFETY: the caller's promise.
                unsafe { copy(self.process, action, region.offered().address + at, local, len) }
            }
            // SAFETY: the caller's promise.
            (_, Some(other)) => unsafe { other.run(region, at, operation) },
            (_, None) => Err(DocaError::NOT_SUPPORTED),
        }
    }
}

/// Copies bytes from another process, or to it for `WRITE`. The kernel moves at most 2 GiB a call.
///
/// # Safety
/// `here` has `len` bytes, writable unless the action is `WRITE`, not covered by any reference.
unsafe fn copy(
    process: i32,
    action: MemoryAction,
    there: u64,
    here: *mut u8,
    len: u64,
) -> Result<(), DocaError> {
    let call = match action {
        MemoryAction::WRITE => libc::process_vm_writev,
        _ => libc::process_vm_readv,
    };
    let mut done = 0;
    while done < len {
        let left = (len - done) as usize;
        let here = iovec { iov_base: here.wrapping_add(done as usize).cast(), iov_len: left };
        let there = iovec { iov_base: (there + done) as usize as *mut _, iov_len: left };
        // SAFETY: one part each; the caller's bytes, and the kernel checks the other side.
        match unsafe { call(process, &raw const here, 1, &raw const there, 1, 0) } {
            moved if moved > 0 => done += moved as u64,
            _ => return Err(code(&io::Error::last_os_error())),
        }
    }
    Ok(())
}

fn code(error: &io::Error) -> DocaError {
    match error.raw_os_error() {
        Some(libc::ESRCH) => DocaError::CONNECTION_RESET,
        Some(libc::EPERM) => DocaError::NOT_PERMITTED,
        Some(libc::ENOSYS) => DocaError::NOT_SUPPORTED,
        // EFAULT: the host has unmapped the memory.
        _ => DocaError::IO_FAILED,
    }
}
