//! The two functions through which bytes come out of shared memory and get into it.
//!
//! Another process may write the bytes while they are copied. The C library copies them behind a
//! function pointer that the compiler cannot see through. The compiler therefore assumes nothing
//! about the source afterwards: what was copied is some mixture of old and new bytes, in memory of
//! its own, and stays as it is. This trusts two things that neither language promises: that the C
//! library's copy tolerates a source that changes, and that a compiler treats a call that it cannot
//! see as it would treat a system call.

use std::ffi::c_void;
use std::hint::black_box;

type Function = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void;

/// Copies `len` bytes.
///
/// # Safety
/// `from` is valid for reads and `to` for writes of `len` bytes, and they do not overlap. Other
/// processes and copies may use either of them at the same time; Rust's references may not, unless
/// they are the caller's own.
#[inline]
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    let copy = black_box(libc::memcpy as Function);
    // SAFETY: the caller's promise.
    unsafe { copy(to.cast(), from.cast(), len) };
}

/// As [`copy`], for ranges that may overlap.
///
/// # Safety
/// As [`copy`], apart from that.
#[inline]
pub(crate) unsafe fn copy_within(from: *const u8, to: *mut u8, len: usize) {
    let copy = black_box(libc::memmove as Function);
    // SAFETY: the caller's promise.
    unsafe { copy(to.cast(), from.cast(), len) };
}
