//! Loads a `libdoca_urom.so`: checks its release, and looks up the table's functions.

use std::ffi::{CStr, OsStr, c_char, c_void};
use std::fmt::Write;
use std::fs;
use std::io::{self, Read};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use libloading::os::unix::{Library as Handle, RTLD_LOCAL, RTLD_NOW};
use rustix::io::Errno;
use urom_abi::host::{Api, CtxState};
use urom_abi::{DocaError, DocaStatus};
use urom_os::{machine, named_file};

use super::version::judge;
use super::{File, Library};
use crate::error::{Error, Result};

/// A loaded file, never unloaded: the library may have threads, and programs copy the table.
struct LoadedLibrary {
    /// Device and inode: a file may have several names.
    identity: (u64, u64),
    api: Api,
    file: File,
}

const NAME_DOCAS: &str = "name the file libdoca_urom.so of DOCA 2.7 or newer";

static LOADED: Mutex<Vec<&'static LoadedLibrary>> = Mutex::new(Vec::new());

impl LoadedLibrary {
    fn library(&'static self) -> Library {
        Library { api: &self.api, file: Some(&self.file) }
    }
}

/// Whether a lack of descriptors, memory or rights keeps a file closed: others would fail, too.
fn is_of_this_process(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::ACCESS | Errno::PERM))
}

/// `origin` is the setting with the path, for error messages.
/// # Safety
/// As [`Library::load`].
pub(super) unsafe fn load(path: &Path, origin: Option<&str>) -> Result<Library> {
    let origin = origin.map(|origin| format!(" (from {origin})")).unwrap_or_default();
    let what = format!("loading the DOCA library `{}`{origin}", path.display());
    // With a slash, so that the loader does not search for the file.
    let found = std::path::absolute(path).and_then(|path| {
        // The loader would wait for a pipe's writer.
        Ok((named_file::open(&path, 0)?.metadata()?, path))
    });
    let (metadata, path) = found.map_err(|error| {
        let code = match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::InvalidInput => DocaError::NOT_FOUND,
            _ => DocaError::IO_FAILED,
        };
        let is_files = !is_of_this_process(&error);
        let failed = Error::new(code, what.clone()).caused_by(error);
        if is_files { failed.hint(NAME_DOCAS) } else { failed }
    })?;
    let identity = (metadata.dev(), metadata.ino());
    // Held until the file is loaded, so that each library has one table.
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = loaded.iter().find(|known| known.identity == identity) {
        return Ok(known.library());
    }
    // SAFETY: the caller vouches for the file.
    let handle = unsafe { open(&path, &what) }?;
    check_owner(&handle, &path, identity, &what)?;
    let version = version(&handle, &what)?;
    let api = table(&handle, &version, &what)?;
    check_together(&api, &what)?;
    tracing::debug!("{} is loaded: DOCA {version}", path.display());
    let new: &'static LoadedLibrary =
        Box::leak(Box::new(LoadedLibrary { identity, api, file: File { path, version } }));
    loaded.push(new);
    Ok(new.library())
}

/// The reason if a file is for another machine: the loader may report a missing file instead.
fn foreign(path: &Path) -> Option<String> {
    let mut header = [0; machine::HEADER_LEN];
    named_file::open(path, 0).and_then(|mut file| file.read_exact(&mut header)).ok()?;
    machine::foreign(&header)
}

/// # Safety
/// As [`Library::load`].
unsafe fn open(path: &Path, what: &str) -> Result<ManuallyDrop<Handle>> {
    // SAFETY: the caller vouches for the file's constructors. Its destructors do not run before the
    // program ends, because `ManuallyDrop` keeps the handle open.
    let opened = unsafe { Handle::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
    opened.map(ManuallyDrop::new).map_err(|error| {
        // The loader's message, without the prefix of `libloading`.
        let said = std::error::Error::source(&error)
            .map_or_else(|| error.to_string(), ToString::to_string);
        let failed = Error::new(DocaError::INITIALIZATION, what.to_owned());
        match foreign(path) {
            Some(foreign) => {
                failed.why(format!("{foreign}: {said}")).hint("name one for this machine")
            }
            None if !is_missing_or_no_library(&said) => failed.why(said),
            // The loader's message begins with the wrong file: this one, or a dependency.
            None if !said.starts_with(&*path.to_string_lossy()) => {
                let hint = match said.contains("No such file") {
                    true => "it needs that library: add its directory to LD_LIBRARY_PATH",
                    false => "it needs that library: install it again",
                };
                failed.why(said).hint(hint)
            }
            None => failed.why(said).hint(NAME_DOCAS),
        }
    })
}

fn symbol(handle: &Handle, name: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: only the address is used; nothing is read through it here.
    let found = unsafe { handle.get::<*mut c_void>(name) };
    found.ok().and_then(|found| NonNull::new(*found))
}

/// Refuses a file whose UROM functions come from a dependency, as in a plugin in C.
fn check_owner(handle: &Handle, path: &Path, identity: (u64, u64), what: &str) -> Result<()> {
    // Missing functions are all reported together, later.
    let Some(owner) = symbol(handle, c"doca_urom_service_create").and_then(owner) else {
        return Ok(());
    };
    let is_named = fs::metadata(&owner).map(|owner| (owner.dev(), owner.ino()) == identity);
    if is_named.unwrap_or(true) || is_filter_of(path, &owner) {
        return Ok(());
    }
    Err(Error::new(DocaError::INVALID_VALUE, what.to_owned())
        .why(format!(
            "it is not DOCA's library but something that is linked with it, such as a plugin or \
             program: doca_urom_service_create is in {}",
            owner.display()
        ))
        .hint("name that file"))
}

/// Whether a file is one of this kit's filters, which contain the name of the library.
fn is_filter_of(path: &Path, owner: &Path) -> bool {
    const REAL: &str = "liburom_doca.so";
    let names = |bytes: Vec<u8>| bytes.windows(REAL.len()).any(|part| part == REAL.as_bytes());
    owner.file_name().is_some_and(|name| name == REAL) && fs::read(path).is_ok_and(names)
}

fn owner(address: NonNull<c_void>) -> Option<PathBuf> {
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: looks up an address, and writes to the local variable.
    let found = unsafe { libc::dladdr(address.as_ptr(), info.as_mut_ptr()) };
    // SAFETY: all zeros are valid, and so is the result of `dladdr`.
    let name = unsafe { info.assume_init() }.dli_fname;
    if found == 0 || name.is_null() {
        return None;
    }
    // SAFETY: the loader's C string, which lives as long as the library.
    let name = unsafe { CStr::from_ptr(name) };
    Some(OsStr::from_bytes(name.to_bytes()).into())
}

fn version(handle: &Handle, what: &str) -> Result<String> {
    let refused = |why: String| {
        Error::new(DocaError::UNSUPPORTED_VERSION, what.to_owned())
            .why(why)
            .hint("a UROM host needs libdoca_urom.so of DOCA 2.7 or newer")
    };
    let function = symbol(handle, c"doca_version_runtime").ok_or_else(|| {
        refused(
            "it lacks the function doca_version_runtime, which returns DOCA's release".to_owned(),
        )
    })?;
    // SAFETY: DOCA's function of this name has this type.
    let function: unsafe extern "C" fn() -> *const c_char =
        unsafe { std::mem::transmute(function) };
    // SAFETY: the function may be called at any time.
    let text = unsafe { function() };
    if text.is_null() {
        return Err(refused("its doca_version_runtime gives NULL".to_owned()));
    }
    // SAFETY: the function returns a C string in static memory.
    let text = unsafe { CStr::from_ptr(text) };
    let text = text.to_string_lossy().into_owned();
    if judge(&text).map_err(refused)? {
        tracing::warn!(
            "{what}: DOCA {text} is newer than this crate knows: its calls may have changed"
        );
    }
    Ok(text)
}

/// Refuses a library that shares the process with another library's `libdoca_common`.
fn check_together(api: &Api, what: &str) -> Result<()> {
    let mut service = std::ptr::null_mut();
    // SAFETY: the library writes one pointer to the local variable.
    let status = unsafe { (api.doca_urom_service_create)(&mut service) };
    if status != DocaStatus::SUCCESS || service.is_null() {
        return Ok(());
    }
    let mut state = CtxState::IDLE;
    // SAFETY: the service is live.
    let ctx = unsafe { (api.doca_urom_service_as_ctx)(service) };
    // SAFETY: the service's context, or NULL; and a local variable.
    let status = unsafe { (api.doca_ctx_get_state)(ctx, &mut state) };
    // SAFETY: the service is not used again. A failure to destroy it can only be ignored.
    let _ = unsafe { (api.doca_urom_service_destroy)(service) };
    if status == DocaStatus::SUCCESS {
        return Ok(());
    }
    Err(Error::new(DocaError::INITIALIZATION, what.to_owned())
        .why(
            "its libdoca_urom does not work with the libdoca_common of this process, which is that \
             of another one",
        )
        .hint("load DOCA's libraries of one directory only, by one name"))
}

fn table(handle: &Handle, version: &str, what: &str) -> Result<Api> {
    // SAFETY: the caller of `load` vouches for the symbols, which live as long as the library.
    unsafe { Api::from_symbols(|name| symbol(handle, name)) }.map_err(|missing| {
        let mut why = format!(
            "DOCA {version} there lacks {} of the {} functions that a UROM host calls. Install all \
             of DOCA's libraries from one release, UROM's among them, or name another file. \
             Missing:",
            missing.len(),
            Api::SYMBOLS.len()
        );
        for name in missing {
            let owner = match name.starts_with("doca_urom_") {
                true => "libdoca_urom",
                false => "libdoca_common",
            };
            let _ = write!(why, "\n  {name}, which {owner} has");
        }
        Error::new(DocaError::NOT_SUPPORTED, what.to_owned()).why(why)
    })
}
/// Whether the loader reports a bad file, and not this process's limits, rights or versions.
fn is_missing_or_no_library(said: &str) -> bool {
    ["No such file", "ELF", "too short"].iter().any(|words| said.contains(words))
}
