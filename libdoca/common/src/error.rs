//! `doca_error_get_name`, `doca_error_get_descr`.

use std::ffi::c_char;

use urom_abi::DocaError;

/// The name of a code, such as `DOCA_ERROR_NOT_FOUND`; `DOCA_ERROR_UNRECOGNIZED` for one that DOCA
/// does not list. Static memory.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn doca_error_get_name(error: DocaError) -> *const c_char {
    error.c_name().as_ptr()
}

/// What a code means; `unrecognized error code` for one that DOCA does not list. Static memory.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn doca_error_get_descr(error: DocaError) -> *const c_char {
    error.c_description().as_ptr()
}
