//! The macros and inline functions of UCX's headers: pointers that carry a status, contiguous
//! datatypes, and the start of the library.

use crate::bindings::{
    UCP_API_MAJOR, UCP_API_MINOR, UCS_ERR_LAST, UCS_INPROGRESS, ucp_config_t, ucp_context_h,
    ucp_datatype_t, ucp_init_version, ucp_params_t, ucs_status_ptr_t, ucs_status_t,
};

/// The lowest address that is an error and not a pointer: the last error code, as C widens it.
const FIRST_ERROR: usize = UCS_ERR_LAST.0 as isize as usize;

/// Whether `ptr` carries an error: `UCS_PTR_IS_ERR`.
#[inline]
#[must_use]
#[allow(non_snake_case, reason = "the name is C's")]
pub fn UCS_PTR_IS_ERR(ptr: ucs_status_ptr_t) -> bool {
    ptr.addr() >= FIRST_ERROR
}

/// Whether `ptr` is a pointer, so neither null (`UCS_OK`) nor an error: `UCS_PTR_IS_PTR`.
#[inline]
#[must_use]
#[allow(non_snake_case, reason = "the name is C's")]
pub fn UCS_PTR_IS_PTR(ptr: ucs_status_ptr_t) -> bool {
    ptr.addr().wrapping_sub(1) < FIRST_ERROR - 1
}

/// The status that `ptr` stands for, `UCS_INPROGRESS` for a pointer: `UCS_PTR_STATUS`.
#[inline]
#[must_use]
#[allow(non_snake_case, reason = "the name is C's")]
pub fn UCS_PTR_STATUS(ptr: ucs_status_ptr_t) -> ucs_status_t {
    if UCS_PTR_IS_PTR(ptr) {
        UCS_INPROGRESS
    } else {
        // What is left is 0 and -100 to -1, so the low byte is the whole value.
        ucs_status_t(ptr.addr() as i8)
    }
}

/// The pointer that carries `status`: `UCS_STATUS_PTR`.
#[inline]
#[must_use]
#[allow(non_snake_case, reason = "the name is C's")]
pub fn UCS_STATUS_PTR(status: ucs_status_t) -> ucs_status_ptr_t {
    core::ptr::without_provenance_mut(status.0 as isize as usize)
}

/// The datatype of contiguous elements of `element` bytes: `ucp_dt_make_contig`. The element size
/// must be below 2^61.
#[inline]
#[must_use]
pub const fn ucp_dt_make_contig(element: usize) -> ucp_datatype_t {
    // UCP_DATATYPE_CONTIG is 0 and takes the low three bits.
    (element as ucp_datatype_t) << 3
}

/// Starts UCX with the version of the API that these bindings were made from: `ucp_init`, which C
/// has as an inline function for the version of its headers.
///
/// # Safety
/// As for `ucp_init_version`: `params` points to parameters whose field mask names what is set,
/// `config` is null or a configuration from `ucp_config_read`, `context` can be written to.
pub unsafe fn ucp_init(
    params: *const ucp_params_t,
    config: *const ucp_config_t,
    context: *mut ucp_context_h,
) -> ucs_status_t {
    // SAFETY: the caller promises what `ucp_init_version` asks for.
    unsafe { ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, params, config, context) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::{
        UCS_ERR_BUSY, UCS_ERR_NO_MESSAGE, UCS_OK, ucp_get_version, ucs_status_string,
    };
    use std::ffi::CStr;

    fn address(value: usize) -> ucs_status_ptr_t {
        core::ptr::without_provenance_mut(value)
    }

    #[test]
    fn every_error_survives_the_pointer() {
        for code in UCS_ERR_LAST.0..0 {
            let pointer = UCS_STATUS_PTR(ucs_status_t(code));
            assert!(UCS_PTR_IS_ERR(pointer));
            assert!(!UCS_PTR_IS_PTR(pointer));
            assert!(UCS_PTR_STATUS(pointer) == ucs_status_t(code), "{code}");
        }
    }

    #[test]
    fn null_is_success() {
        assert!(!UCS_PTR_IS_ERR(address(0)));
        assert!(!UCS_PTR_IS_PTR(address(0)));
        assert!(UCS_PTR_STATUS(address(0)) == UCS_OK);
    }

    #[test]
    fn a_pointer_is_a_request_whatever_its_low_byte() {
        for value in [1, 0xff, 0x7fff_ffff_ffe0, 0x7f00_0000_00f0, FIRST_ERROR - 1] {
            assert!(!UCS_PTR_IS_ERR(address(value)));
            assert!(UCS_PTR_IS_PTR(address(value)));
            assert!(UCS_PTR_STATUS(address(value)) == UCS_INPROGRESS);
        }
    }

    #[test]
    fn a_status_is_one_byte_and_crosses_the_border_with_its_sign() {
        assert_eq!(size_of::<ucs_status_t>(), 1);
        let text = |status| {
            // SAFETY: takes any value.
            let text = unsafe { ucs_status_string(status) };
            // SAFETY: UCX returns a string that is never freed.
            unsafe { CStr::from_ptr(text) }.to_str().unwrap()
        };
        assert_ne!(text(UCS_ERR_BUSY), text(UCS_ERR_NO_MESSAGE));
        assert_eq!(text(UCS_OK), "Success");
    }

    #[test]
    fn a_contiguous_datatype_holds_its_element_size() {
        assert_eq!(ucp_dt_make_contig(1), 8);
        assert_eq!(ucp_dt_make_contig(4096), 4096 << 3);
    }

    #[test]
    fn the_library_is_new_enough() {
        let (mut major, mut minor, mut release) = (0, 0, 0);
        // SAFETY: three pointers to write to.
        unsafe { ucp_get_version(&mut major, &mut minor, &mut release) };
        assert!((major, minor) >= (UCP_API_MAJOR, UCP_API_MINOR), "{major}.{minor}.{release}");
    }
}
