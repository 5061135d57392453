//! C strings from Rust constants.

use std::ffi::CStr;

/// Converts a text that ends with its only NUL.
pub(crate) const fn c_text(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a text with a NUL inside, or without one at its end"),
    }
}
