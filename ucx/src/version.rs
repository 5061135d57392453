//! The version of the UCX that runs, and which versions understand each other.

use std::ffi::c_uint;
use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use ucx_sys as sys;

use crate::status::{Error, Status};

/// A version of UCX, such as `1.22.0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
    /// The third number.
    pub patch: u32,
}

/// The version of the library that this process is linked with at run time: `ucp_get_version`.
#[must_use]
pub fn version() -> Version {
    let (mut major, mut minor, mut patch): (c_uint, c_uint, c_uint) = (0, 0, 0);
    // SAFETY: three places that can be written to.
    unsafe { sys::ucp_get_version(&mut major, &mut minor, &mut patch) };
    Version { major, minor, patch }
}

/// Whether two versions of UCX can connect to each other.
///
/// Before 1.20 they can, whatever their minor versions; from 1.20 on a version connects only to its own minor version.
/// UCX itself says no more than "no remote address" when they do not fit, so peers should compare before they connect.
#[must_use]
pub fn wire_compatible(a: Version, b: Version) -> bool {
    let old = |version: Version| (version.major, version.minor) < (1, 20);
    (a.major, a.minor) == (b.major, b.minor) || (a.major == b.major && old(a) && old(b))
}

/// The oldest that the bindings fit.
const OLDEST: Version = Version { major: 1, minor: 16, patch: 0 };

/// An error when a process was given an older library than its programs were built with: UCX only logs a warning, goes
/// on with structures of another layout, and loses data.
pub(crate) fn require_oldest(found: Version) -> Result<(), Error> {
    if found >= OLDEST {
        return Ok(());
    }
    let what = format!(
        "this process was loaded with UCX {found}, and {OLDEST} is the oldest that will do: is another libucp.so.0 \
         found first (LD_LIBRARY_PATH)?"
    );
    Err(Status::UNSUPPORTED.during(what))
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// A text that is not a version: it must be three numbers with dots between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseVersionError {
    text: String,
    source: Option<ParseIntError>,
}

impl fmt::Display for ParseVersionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no UCX version: expected three numbers, such as 1.22.0", self.text)
    }
}

impl std::error::Error for ParseVersionError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}

impl FromStr for Version {
    type Err = ParseVersionError;

    fn from_str(text: &str) -> Result<Self, ParseVersionError> {
        let error = |source| ParseVersionError { text: text.to_owned(), source };
        let parts: Vec<&str> = text.split('.').collect();
        let &[major, minor, patch] = parts.as_slice() else { return Err(error(None)) };
        let number = |part: &str| part.parse::<u32>().map_err(|source| error(Some(source)));
        Ok(Version { major: number(major)?, minor: number(minor)?, patch: number(patch)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn the_running_version_prints_and_parses() {
        let running = version();
        assert!(running >= parse("1.16.0"), "{running}");
        assert_eq!(parse(&running.to_string()), running);
    }

    #[test]
    fn text_that_is_no_version_is_refused() {
        for text in ["", "1", "1.22", "1.22.0.1", "1.22.x", "1.-2.0", "1.99999999999.0", " 1.22.0"] {
            assert!(text.parse::<Version>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_library_older_than_the_bindings_is_refused_with_its_version() {
        for version in ["1.16.0", "1.22.0", "2.0.0"] {
            assert!(require_oldest(parse(version)).is_ok(), "{version}");
        }
        for version in ["1.13.1", "1.15.9", "0.20.0"] {
            let error = require_oldest(parse(version)).expect_err("too old");
            assert_eq!(error.status(), Status::UNSUPPORTED);
            let text = error.to_string();
            assert!(
                text.contains(&format!("UCX {version}, and 1.16.0")) && text.contains("LD_LIBRARY_PATH"),
                "{text}"
            );
        }
    }

    #[test]
    fn old_versions_understand_each_other_and_new_ones_only_themselves() {
        assert!(wire_compatible(parse("1.16.0"), parse("1.18.1")));
        assert!(wire_compatible(parse("1.22.0"), parse("1.22.3")));
        assert!(!wire_compatible(parse("1.20.1"), parse("1.22.0")));
        assert!(!wire_compatible(parse("1.18.1"), parse("1.20.0")));
        assert!(!wire_compatible(parse("2.1.0"), parse("1.16.0")));
    }
}
