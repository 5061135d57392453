//! The version of the running UCX, and which versions are compatible.

use std::ffi::{CStr, c_uint, c_void};
use std::fmt;
use std::mem::MaybeUninit;
use std::path::PathBuf;

use ucx_sys as sys;

use crate::status::{Result, Status};

/// A version of UCX, such as `1.22.0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The major number.
    pub major: u32,
    /// The minor number.
    pub minor: u32,
    /// The patch number.
    pub patch: u32,
}

/// Returns the version of the library that this process runs with: `ucp_get_version`.
#[must_use]
pub fn version() -> Version {
    let (mut major, mut minor, mut patch): (c_uint, c_uint, c_uint) = (0, 0, 0);
    // SAFETY: all three out pointers are writable.
    unsafe { sys::ucp_get_version(&mut major, &mut minor, &mut patch) };
    Version { major, minor, patch }
}

/// The oldest UCX that this crate supports.
pub const OLDEST: Version = Version { major: 1, minor: 16, patch: 0 };

fn file() -> Option<PathBuf> {
    let function: unsafe extern "C" fn(*mut c_uint, *mut c_uint, *mut c_uint) =
        sys::ucp_get_version;
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: looks up an address; the out pointer is writable.
    let found = unsafe { libc::dladdr(function as *const c_void, info.as_mut_ptr()) };
    // SAFETY: zeroed by `zeroed`, and `dladdr` writes valid values only.
    let name = unsafe { info.assume_init() }.dli_fname;
    if found == 0 || name.is_null() {
        return None;
    }
    // SAFETY: the loader's C string, which stays as long as the library does.
    let name = unsafe { CStr::from_ptr(name) };
    Some(name.to_string_lossy().into_owned().into())
}

/// Refuses a UCX before [`OLDEST`], which would lose data or crash. A program can be linked with a
/// newer UCX and run with the system's. [`Context`](crate::Context) calls this function.
///
/// # Errors
/// `UNSUPPORTED`, with the version, its file, and the variables to set.
pub fn require_version() -> Result<()> {
    judge(version(), file)
}

fn judge(running: Version, file: impl FnOnce() -> Option<PathBuf>) -> Result<()> {
    if running >= OLDEST {
        return Ok(());
    }
    let file = file().map(|file| format!(" ({})", file.display())).unwrap_or_default();
    Err(Status::UNSUPPORTED.during(format!(
        "the UCX of this process is {running}{file}, and {OLDEST} is the oldest that will do: put \
         the directory of a newer libucp.so.0 first in LD_LIBRARY_PATH, the one this program was \
         built with, say; a build script that calls `ucx_probe::emit_rpath()` has a program find \
         that by itself"
    )))
}

/// Returns whether two versions of UCX can connect to each other.
///
/// 1.16, 1.17 and 1.18 are compatible; from 1.19 on, a version is compatible only with its own
/// minor version. This holds for messages and registered memory, over shared memory and TCP.
/// Compare the versions before connecting: UCX fails with "no remote address" or crashes.
#[must_use]
pub fn wire_compatible(a: Version, b: Version) -> bool {
    let old = |version: Version| (version.major, version.minor) < (1, 19);
    (a.major, a.minor) == (b.major, b.minor) || (a.major == b.major && old(a) && old(b))
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn parse(text: &str) -> Version {
        let numbers: Vec<u32> = text.split('.').map(|number| number.parse().unwrap()).collect();
        let [major, minor, patch] = numbers[..] else { panic!("{text}") };
        Version { major, minor, patch }
    }

    #[test]
    fn the_running_version_is_new_enough_and_prints() {
        let running = version();
        assert!(running >= parse("1.16.0"), "{running}");
        assert_eq!(parse(&running.to_string()), running);
    }

    #[test]
    fn the_running_release_is_the_requested_one() {
        if let Ok(expected) = std::env::var("UROM_TEST_UCX") {
            assert_eq!(version(), parse(&expected), "{:?}", file());
        }
    }

    #[test]
    fn a_ucx_that_is_too_old_is_named_with_its_file_and_the_remedy() {
        let error = judge(parse("1.13.1"), || Some("/usr/lib/libucp.so.0".into())).unwrap_err();
        assert_eq!(error.status(), Status::UNSUPPORTED);
        for part in ["1.13.1", "/usr/lib/libucp.so.0", "1.16.0", "LD_LIBRARY_PATH", "emit_rpath"] {
            assert!(error.to_string().contains(part), "{error}");
        }
        for old in ["0.9.0", "1.15.9", "1.0.0"] {
            assert!(judge(parse(old), || None).is_err(), "{old}");
        }
        for fine in ["1.16.0", "1.22.0", "2.0.0"] {
            assert!(judge(parse(fine), || None).is_ok(), "{fine}");
        }
        assert!(require_version().is_ok());
    }

    #[test]
    fn the_file_of_the_running_ucx_is_known() {
        let file = file().unwrap();
        assert!(
            file.is_absolute() && file.to_string_lossy().contains("libucp"),
            "{}",
            file.display()
        );
    }

    #[test]
    fn versions_to_1_18_understand_each_other_and_newer_ones_only_themselves() {
        // One version of each minor release in the guide's table, and its compatibility group.
        let groups = [
            "1.16.0 1.17.0 1.18.1",
            "1.19.0 1.19.1",
            "1.20.0 1.20.1",
            "1.21.0",
            "1.22.0 1.22.3",
            "2.16.0",
        ];
        for one in groups {
            for other in groups {
                for (a, b) in one.split(' ').flat_map(|a| other.split(' ').map(move |b| (a, b))) {
                    assert_eq!(wire_compatible(parse(a), parse(b)), one == other, "{a} {b}");
                }
            }
        }
    }
}
