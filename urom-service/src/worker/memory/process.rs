//! The kernel's copies from and to another process of the same user.

use std::io;

use libc::iovec;
use urom_abi::DocaError;

/// Copies bytes of another process to a place of this one.
///
/// # Safety
/// There are `len` writable bytes at `to`, to which nobody has a reference.
pub(super) unsafe fn read(process: i32, from: u64, to: *mut u8, len: u64) -> Result<(), DocaError> {
    copy(from, to, len, |here, there| {
        // SAFETY: one part each; the caller's bytes, and the kernel checks the other process's.
        unsafe { libc::process_vm_readv(process, here, 1, there, 1, 0) }
    })
}

/// Copies bytes of this process to those of another one.
///
/// # Safety
/// There are `len` readable bytes at `from`.
pub(super) unsafe fn write(
    process: i32,
    to: u64,
    from: *mut u8,
    len: u64,
) -> Result<(), DocaError> {
    copy(to, from, len, |here, there| {
        // SAFETY: one part each; the caller's bytes, and the kernel checks the other process's.
        unsafe { libc::process_vm_writev(process, here, 1, there, 1, 0) }
    })
}

/// Repeats a call until all is copied: the kernel moves 2 GiB at most.
fn copy(
    there: u64,
    here: *mut u8,
    len: u64,
    call: impl Fn(*const iovec, *const iovec) -> isize,
) -> Result<(), DocaError> {
    let mut done = 0;
    while done < len {
        let left = (len - done) as usize;
        let here = iovec { iov_base: here.wrapping_add(done as usize).cast(), iov_len: left };
        let there = iovec { iov_base: (there + done) as usize as *mut _, iov_len: left };
        match call(&here, &there) {
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
        // EFAULT: the host has unmapped it.
        _ => DocaError::IO_FAILED,
    }
}

/// Tries whether this process may copy from that place of another one.
pub(super) fn try_read(process: i32, address: u64) -> Result<(), DocaError> {
    let mut byte = 0_u8;
    // SAFETY: a byte of this frame.
    unsafe { read(process, address, &raw mut byte, 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_copied_both_ways_and_what_is_not_there_is_an_error() {
        let own = std::process::id() as i32;
        let (mut theirs, mut ours) = (*b"theirs", *b"mine..");
        let address = (&raw mut theirs).addr() as u64;
        // SAFETY: arrays of this frame.
        unsafe { read(own, address, (&raw mut ours).cast(), 6) }.unwrap();
        assert_eq!(&ours, b"theirs");
        // SAFETY: as above.
        unsafe { write(own, address, b"other!".as_ptr().cast_mut(), 6) }.unwrap();
        assert_eq!(&theirs, b"other!");
        assert_eq!(try_read(own, address), Ok(()));
        assert_eq!(try_read(own, 8), Err(DocaError::IO_FAILED));
        // SAFETY: as above.
        let failed = unsafe { read(own, u64::MAX - 5, (&raw mut ours).cast(), 6) };
        assert_eq!(failed, Err(DocaError::IO_FAILED));
        // No process has this number.
        // SAFETY: as above.
        let failed = unsafe { read(i32::MAX, address, (&raw mut ours).cast(), 6) };
        assert_eq!(failed, Err(DocaError::CONNECTION_RESET));
    }
}
