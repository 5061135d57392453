//! The one way in which bytes come out of memory that another process may write at any time, and
//! get into it.
//!
//! In Rust's model a plain copy of such bytes is a data race, and a compiler that sees the copy may
//! read its source twice. So the copies run as machine code that the compiler knows nothing about:
//! the C library's `memcpy` and `memmove`, which are written in assembler and move each byte by
//! ordinary loads and stores, as relaxed atomic accesses would. [`hidden`] keeps the compiler from
//! knowing which function is called. It has to treat the call as one of an unknown function, and
//! may assume neither that the source stays, nor how often it is read. What was copied is some
//! mixture of old and new bytes, in memory of its own, and stays as it is.

use std::ffi::c_void;

type Function = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void;

/// The same function, about which the compiler knows nothing: `asm!` is the one construct whose
/// result no optimisation may derive. `black_box` promises nothing of the kind.
#[inline]
fn hidden(function: Function) -> Function {
    // Miri has no assembler; no other process writes there.
    #[cfg(not(miri))]
    let function = {
        let mut function = function;
        // SAFETY: no instruction; the register keeps its value.
        unsafe {
            std::arch::asm!(
                "/* {} */",
                inout(reg) function,
                options(pure, nomem, nostack, preserves_flags)
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
