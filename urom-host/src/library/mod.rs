//! Which DOCA library is called: a table of its functions.

mod find;
mod load;
mod version;

use std::borrow::Cow;
use std::ffi::c_char;
use std::fmt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

use urom_abi::DocaError;
use urom_abi::host::{Api, Extensions};

use crate::error::{Error, Result, check};

#[cfg(feature = "embedded")]
pub(crate) use find::SERVICE_FILE;
pub(crate) use find::find;

/// A DOCA UROM host library, through which this crate makes all calls.
///
/// [`Service::connect`](crate::Service::connect) chooses one by itself, see [`Library::find`].
/// Objects of different libraries cannot be mixed; a service, its workers and their progress
/// engines use one.
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
    /// The library of a program that names none, for instance of one that connects with
    /// [`Service::connect`](crate::Service::connect): the first of these.
    ///
    /// 1. what `UROM_DOCA_LIBRARY` names: the path of a `libdoca_urom.so`, or the word `builtin`
    ///    for the built-in one. An empty variable is none;
    /// 2. where `DOCA_UROM_SERVICE_FILE` is set, the one in DOCA's install place, such as
    ///    `/opt/mellanox/doca/lib/aarch64-linux-gnu/libdoca_urom.so`, if that file exists;
    /// 3. the [built-in](Self::builtin) one, with the feature `builtin`.
    ///
    /// Steps 1 and 2 load a file that the program's environment names, as the dynamic linker does
    /// for `LD_LIBRARY_PATH`: whoever sets the environment vouches for it.
    ///
    /// A [`ServiceBuilder`](crate::ServiceBuilder) that is told what only this project's own
    /// library can do (an address, an embedded service) skips step 2.
    ///
    /// # Errors
    /// As [`load`](Self::load) when the library that was named cannot be used; no other is tried
    /// then. `NOT_FOUND`, with all that was looked at, when there is none.
    pub fn find() -> Result<Library> {
        find(false)
    }

    /// Loads a `libdoca_urom.so` (`dlopen`): NVIDIA's, or the one of this project.
    ///
    /// It takes DOCA 2.7 or newer, by `doca_version_runtime`; a major number above 3 is taken with
    /// a warning, a [`tracing`] event. UROM's functions must be in the file, DOCA's core functions
    /// in it or in the libraries it is linked with. It is never unloaded. Loading a file again,
    /// under whatever name, gives an equal `Library`.
    ///
    /// # Safety
    /// The file's constructors run, and its functions behave as the documentation in
    /// [`urom_abi::host`] and DOCA's says: see [`from_table`](Self::from_table). Take the path from
    /// a source that you would take the program itself from.
    ///
    /// # Errors
    /// - `NOT_FOUND`, `IO_FAILED`: there is no such file, or it cannot be read.
    /// - `INITIALIZATION`: it cannot be loaded, with the loader's own words: it is no library, is
    ///   for another machine, or needs another library that is missing.
    /// - `INVALID_VALUE`: UROM's functions are in another library that it is linked with, as with a
    ///   plugin.
    /// - `UNSUPPORTED_VERSION`: it is of a release before 2.7, or does not say of which.
    /// - `NOT_SUPPORTED`: it lacks functions, with a line for each of them.
    pub unsafe fn load(path: impl AsRef<Path>) -> Result<Library> {
        // SAFETY: the caller vouches for the file.
        unsafe { load::load(path.as_ref(), None) }
    }

    /// The library that this project builds in, for the daemon `uromd` and, with the feature
    /// `embedded`, for the embedded service.
    #[cfg(feature = "builtin")]
    pub fn builtin() -> Library {
        Library { api: libdoca_host::api(), file: None }
    }

    /// Any other library, such as one that a test plays.
    ///
    /// # Safety
    /// Every function of the table behaves as its documentation in [`urom_abi::host`] and DOCA's
    /// says: objects live until they are destroyed, a task's memory until it is released, callbacks
    /// are called inside `doca_pe_progress` and nowhere else.
    pub unsafe fn from_table(api: &'static Api) -> Library {
        Library { api, file: None }
    }

    /// The file it was [loaded](Self::load) from, by the name it was first loaded under; `None`
    /// when it was not loaded.
    pub fn path(&self) -> Option<&'static Path> {
        self.file.map(|file| file.path.as_path())
    }

    /// What `doca_version_runtime` says, such as `2.7.0`; `None` when it was not
    /// [loaded](Self::load).
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

    /// Whether its tasks have room for slots. Such a library ends commands at their deadlines, too.
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

/// A value of the library, which `get` puts in the place of the one that it gets.
pub(crate) fn get<T, W: Into<Cow<'static, str>>>(
    mut value: T,
    what: impl FnOnce() -> W,
    get: impl FnOnce(&mut T) -> DocaError,
) -> Result<T> {
    check(get(&mut value), what)?;
    Ok(value)
}

pub(crate) fn c_text(array: &[c_char]) -> String {
    let text = array.iter().take_while(|byte| **byte != 0);
    String::from_utf8_lossy(&text.map(|byte| *byte as u8).collect::<Vec<_>>()).into_owned()
}

/// What a library gave out together with `SUCCESS`: a NULL there is its mistake, not this
/// program's.
pub(crate) fn non_null<T, W: Into<Cow<'static, str>>>(
    pointer: *mut T,
    what: impl FnOnce() -> W,
) -> Result<NonNull<T>> {
    NonNull::new(pointer).ok_or_else(|| {
        Error::new(DocaError::UNEXPECTED, what())
            .why("the library reported success with a NULL pointer")
    })
}
