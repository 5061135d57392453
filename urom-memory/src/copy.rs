//! Copies from and to memory that another process may write at any time. All such copies of the
//! kit are here.
//!
//! In Rust's model a plain copy of such bytes is a data race, and a compiler that sees the copy may
//! read its source twice. So the copies are machine code: the C library's `memcpy` and `memmove`,
//! which are written in assembler. They move each byte by ordinary loads and stores, as relaxed
//! atomic accesses would. [`hidden`] hides the function from the compiler. The compiler has to
//! treat the call as a call of an unknown function, and may assume neither that the source stays,
//! nor how often it is read. The copy is some mixture of old and new bytes, in memory of its own,
//! and does not change afterwards.

use std::ffi::c_void;

type Function = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void;

/// The same function behind `asm!`, whose result no optimisation may derive. `black_box` gives no
/// such promise.
#[inline]
fn hidden(function: Function) -> Function {
    // Miri lacks an assembler, and other processes.
    #[cfg(not(miri))]
    let function = {
        let mut function = function;
        // SAFETY: no instruction; the register keeps its value.
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
/// processes and copies may use either of them at the same time; Rust's references may not, unless
/// they are the caller's own.
#[inline]
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { hidden(libc::memcpy)(to.cast(), from.cast(), len) };
}

/// As [`copy`], for ranges that may overlap.
///
/// # Safety
/// As [`copy`], apart from that.
#[inline]
pub(crate) unsafe fn copy_within(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { hidden(libc::memmove)(to.cast(), from.cast(), len) };
}
