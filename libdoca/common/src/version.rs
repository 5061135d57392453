//! `doca_version_runtime`.

use std::ffi::c_char;

use urom_abi::version::C_RELEASE;

/// The release of this library. Static memory.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn doca_version_runtime() -> *const c_char {
    C_RELEASE.as_ptr()
}
