//! `doca_version_runtime`.

use std::ffi::{CStr, c_char};

/// The release whose interface this is, as `doca_version.h` has it.
pub(crate) const VERSION: &CStr = c"2.7.0";

/// The release of this library. Static memory.
// SAFETY: no other symbol of this library has DOCA's name.
#[unsafe(no_mangle)]
extern "C" fn doca_version_runtime() -> *const c_char {
    VERSION.as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_and_library_are_of_one_release() {
        let header = concat!(env!("CARGO_MANIFEST_DIR"), "/../../urom-abi/include/doca_version.h");
        let line = format!("#define DOCA_VERSION_STRING \"{}\"", VERSION.to_str().unwrap());
        assert!(std::fs::read_to_string(header).unwrap().contains(&line));
    }
}
