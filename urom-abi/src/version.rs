//! The DOCA release of this interface, and the version words of plugins.

use std::ffi::CStr;

use crate::c_text::c_text;

macro_rules! release {
    () => {
        "2.7.0"
    };
}

/// The release of the headers and of `libdoca_urom.so`, the first with this plugin interface.
pub const RELEASE: &str = release!();

#[doc(hidden)]
pub const C_RELEASE: &CStr = c_text(concat!(release!(), "\0"));

/// Returns a DOCA version word as `DOCA_VERSION_EXACT`: `major << 24 | minor << 16 | patch`.
pub const fn exact(major: usize, minor: usize, patch: usize) -> usize {
    major << 24 | minor << 16 | patch
}

/// The value of `urom_plugin_iface::__doca_api_version` in a plugin of this kit: the word of
/// [`RELEASE`], unless `UROM_DOCA_VERSION` overrides it (`UROM_DOCA_VERSION=3.0.58 cargo build`).
pub const API_VERSION: usize = {
    let text = match option_env!("UROM_DOCA_VERSION") {
        Some(text) => text,
        None => RELEASE,
    };
    match parse(text) {
        Some(word) if word != 0 => word,
        _ => {
            panic!(
                "UROM_DOCA_VERSION must read MAJOR.MINOR.PATCH, for example 3.0.58, and must not be 0.0.0"
            )
        }
    }
};

/// Returns the word for `MAJOR.MINOR.PATCH`; `None` for an invalid or too large part.
pub(crate) const fn parse(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let limits = [0xff, 0xff, 0xffff];
    let mut parts = [0usize; 3];
    let (mut part, mut digits, mut i) = (0, 0, 0);
    while i < bytes.len() {
        let byte = bytes[i];
        if byte == b'.' {
            if digits == 0 || part == 2 {
                return None;
            }
            part += 1;
            digits = 0;
        } else if byte.is_ascii_digit() {
            parts[part] = parts[part] * 10 + (byte - b'0') as usize;
            if parts[part] > limits[part] {
                return None;
            }
            digits += 1;
        } else {
            return None;
        }
        i += 1;
    }
    if part == 2 && digits > 0 { Some(exact(parts[0], parts[1], parts[2])) } else { None }
}

/// Formats a version word: `2.7.0`.
pub fn display(word: usize) -> String {
    format!("{}.{}.{}", word >> 24, word >> 16 & 0xff, word & 0xffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_match_docas_own() {
        assert_eq!(exact(3, 0, 58), 0x0300_003A);
        assert_eq!(parse("3.0.58"), Some(0x0300_003A));
        assert_eq!(parse("3.0.0058"), Some(0x0300_003A));
        assert_eq!(display(0x0300_003A), "3.0.58");
    }

    #[test]
    fn the_default_is_doca_2_7_0() {
        if option_env!("UROM_DOCA_VERSION").is_none() {
            assert_eq!(API_VERSION, 0x0207_0000);
        }
    }

    #[test]
    fn text_that_is_no_version_is_refused() {
        let long = "99999999999999999999.0.0";
        let texts = ["3", "3.0", "3.0.", "3..1", "3.0.58.1", "256.0.0", "3.0.65536", "3.0.x"];
        for text in texts.into_iter().chain(["", long]) {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
