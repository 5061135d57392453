//! The DOCA library: a table of its functions.

mod find;
mod load;
mod version;

use std::borrow::Cow;
use std::ffi::c_char;
use std::fmt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

use urom_abi::host::{Api, Extensions};
use urom_abi::{DocaError, DocaStatus};

use crate::error::{Error, Result, check};

#[cfg(feature = "embedded")]
pub(crate) use find::SERVICE_FILE;
pub(crate) use find::find;

/// A DOCA UROM host library, through which this crate makes all calls.
///
/// [`Service::connect`](crate::Service::connect) chooses one; see [`Library::find`]. Objects of
/// different libraries cannot be mixed: a service, its workers and their progress engines use one.
#[derive(Clone, Copy)]
pub struct Library {
    api: &'static Api,
    file: Option<&'static File>,
}

struct File {
    path: PathBuf,
    version: String,
}

impl fmt::Display for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (DOCA {})", self.path.display(), self.version)
    }
}

impl Library {
    /// The default library, as of [`Service::connect`](crate::Service::connect): the first of
    ///
    /// 1. the file in `UROM_DOCA_LIBRARY`, or the built-in library for `builtin`; empty is unset;
    /// 2. if `DOCA_UROM_SERVICE_FILE` is set, the library in DOCA's install path, such as
    ///    `/opt/mellanox/doca/lib/aarch64-linux-gnu/libdoca_urom.so`, if that file exists;
    /// 3. the [built-in](Self::builtin) one, with the feature `builtin`.
    ///
    /// Steps 1 and 2 load a file that the environment names, as the dynamic linker does for
    /// `LD_LIBRARY_PATH`: whoever sets the environment vouches for it. A
    /// [`ServiceBuilder`](crate::ServiceBuilder) with an address or an embedded service, which only
    /// this project's library supports, skips step 2.
    ///
    /// # Errors
    /// As [`load`](Self::load) when the named library cannot be used; no other is tried then.
    /// `NOT_FOUND` without any library, with the searched paths.
    pub fn find() -> Result<Library> {
        find(false)
    }

    /// Loads a `libdoca_urom.so` (`dlopen`): NVIDIA's, or this project's.
    ///
    /// It requires DOCA 2.7 or newer (`doca_version_runtime`); a major version above 3 is accepted
    /// with a warning, a [`tracing`] event. UROM's functions must be in the file, DOCA's core
    /// functions in it or in its dependencies. The library is never unloaded. Loading a file again,
    /// also under another name, returns an equal `Library`.
    ///
    /// # Safety
    /// The file's constructors run, and its functions must fulfil [`from_table`](Self::from_table).
    /// Take the path from a source that you would take the program itself from.
    ///
    /// # Errors
    /// - `NOT_FOUND`, `IO_FAILED`: the file does not exist or cannot be read.
    /// - `INITIALIZATION`: the loader refuses it, with its message: the file is not a library, is
    ///   for another machine, or lacks a dependency.
    /// - `INVALID_VALUE`: UROM's functions are in a dependency, as in a plugin.
    /// - `UNSUPPORTED_VERSION`: its release is before 2.7 or unknown.
    /// - `NOT_SUPPORTED`: it lacks functions, with a line for each.
    pub unsafe fn load(path: impl AsRef<Path>) -> Result<Library> {
        // SAFETY: the caller vouches for the file.
        unsafe { load::load(path.as_ref(), None) }
    }

    /// This project's library, for the daemon `uromd` and, if enabled, for the embedded service.
    #[cfg(feature = "builtin")]
    pub fn builtin() -> Library {
        Library { api: libdoca_host::api(), file: None }
    }

    /// Any other library, such as a test's.
    ///
    /// # Safety
    /// Every function of the table behaves as documented in [`urom_abi::host`] and by DOCA: objects
    /// live until they are destroyed, a task's memory until it is released, and callbacks run only
    /// inside `doca_pe_progress`.
    pub unsafe fn from_table(api: &'static Api) -> Library {
        Library { api, file: None }
    }

    /// The file it was [loaded](Self::load) from, by its first name; `None` if it was not loaded.
    pub fn path(&self) -> Option<&'static Path> {
        self.file.map(|file| file.path.as_path())
    }

    /// The result of `doca_version_runtime`, such as `2.7.0`; `None` if not loaded.
    pub fn version(&self) -> Option<&'static str> {
        self.file.map(|file| file.version.as_str())
    }

    pub(crate) fn file(self) -> Option<impl fmt::Display> {
        self.file
    }

    pub(crate) fn api(self) -> &'static Api {
        self.api
    }

    pub(crate) fn extensions(self) -> &'static Extensions {
        &self.api.extensions
    }

    /// Whether tasks have memory for slots. Such a library also has deadlines.
    pub(crate) fn keeps_slots(self) -> bool {
        self.extensions().urom_worker_cmd_task_get_area.is_some()
    }

    pub(crate) fn is_own(self) -> bool {
        !self.api.extensions.is_empty()
    }
}

impl PartialEq for Library {
    fn eq(&self, other: &Library) -> bool {
        std::ptr::eq(self.api, other.api)
    }
}

impl Eq for Library {}

debug_fields!(Library, |it| {
    path: it.path(),
    version: it.version(),
    is_own: it.is_own()
});

pub(crate) fn get<T, W: Into<Cow<'static, str>>>(
    mut value: T,
    what: impl FnOnce() -> W,
    get: impl FnOnce(&mut T) -> DocaStatus,
) -> Result<T> {
    check(get(&mut value), what)?;
    Ok(value)
}

pub(crate) fn c_text(array: &[c_char]) -> String {
    let text = array.iter().take_while(|byte| **byte != 0);
    String::from_utf8_lossy(&text.map(|byte| *byte as u8).collect::<Vec<_>>()).into_owned()
}

/// Checks a pointer returned with `SUCCESS`: NULL is the library's fault.
pub(crate) fn non_null<T, W: Into<Cow<'static, str>>>(
    pointer: *mut T,
    what: impl FnOnce() -> W,
) -> Result<NonNull<T>> {
    NonNull::new(pointer).ok_or_else(|| {
        Error::new(DocaError::UNEXPECTED, what())
            .why("the library reported success with a NULL pointer")
    })
}
