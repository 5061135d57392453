//! All copies of the kit from and to memory that another process may write at any time.
//!
//! In Rust's model a plain copy of such bytes is a data race, and a compiler may read its source
//! twice. The copies are therefore the C library's `memcpy` and `memmove`, in assembler. They use
//! ordinary loads and stores, like relaxed atomics. [`hidden`] hides the function, so the compiler
//! cannot assume that the source is constant or read once. A copy mixes old and new bytes.

use std::ffi::c_void;

type Function = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void;

/// Returns the same function through `asm!`, unknown to the optimizer (`black_box` is only a hint).
#[inline]
fn hidden(function: Function) -> Function {
    // Miri lacks an assembler and other processes.
    #[cfg(not(miri))]
    let function = {
        let mut function = function;
        // SAFETY: the assembler text is a comment; the register keeps its value.
        unsafe {
            std::arch::asm!(
                "/* {} */",
                inout(reg) function,
                options(nostack, preserves_flags)
            );
        }
        function
    };
    function
}

/// Copies `len` bytes.
///
/// # Safety
/// `from` is valid for reads and `to` for writes of `len` bytes, and they do not overlap. Other
/// processes and copies may access both concurrently, but only the caller's Rust references may.
#[inline]
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { hidden(libc::memcpy)(to.cast(), from.cast(), len) };
}

/// As [`copy`], for ranges that may overlap.
///
/// # Safety
/// As [`copy`], but the ranges may overlap.
#[inline]
pub(crate) unsafe fn copy_within(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { hidden(libc::memmove)(to.cast(), from.cast(), len) };
}
