//! `doca_version_runtime`.

use std::ffi::{CStr, c_char};

/// The release whose interface this is, as `doca_version.h` has it.
const VERSION: &CStr = c"2.7.0";

/// The release of this library. Static memory.
// SAFETY: no other symbol of this library has DOCA's name.
#[unsafe(no_mangle)]
extern "C" fn doca_version_runtime() -> *const c_char {
    VERSION.as_ptr()
}
