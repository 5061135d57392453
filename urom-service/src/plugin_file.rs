//! A plugin's `.so`: loads it and calls its two functions, for `uromd examine` and workers. A
//! loaded file is never unloaded: foreign code may have left pointers to itself anywhere.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use serde::{Deserialize, Serialize};
use urom_abi::driver::{Methods, Missing, VERSION_WORD};
use urom_abi::extension::{EXTENSION_SYMBOL, PluginExtension, Words};
use urom_abi::plugin::{
    GET_IFACE_SYMBOL, GET_VERSION_SYMBOL, GetIfaceFn, GetVersionFn, PluginIface,
};
use urom_abi::{DocaError, DocaStatus};
use urom_os::fork::PerProcess;

use crate::identity::FileIdentity;

/// A defect of a plugin file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
pub enum PluginFileError {
    /// The loader's message.
    #[error("cannot be loaded: {0}{hint}", hint = missing_of_doca(.0).map_or("", |_| LIBRARIES_HINT))]
    Load(String),
    /// A symbol is missing.
    #[error("is not a plugin: it does not export `{0}`")]
    Symbol(Cow<'static, str>),
    /// A plugin function was called and failed.
    #[error("`{symbol}` failed: {}", DocaStatus(*code))]
    Failed {
        /// The function's name.
        symbol: Cow<'static, str>,
        /// A `doca_error_t`.
        code: u32,
    },
    /// The version word is zero.
    #[error(
        "its interface carries no version (`__doca_api_version` is 0): set it to DOCA_VERSION_EXACT, of DOCA 2.7 or newer, in `urom_plugin_get_iface`"
    )]
    NoVersionWord,
    /// A method is missing.
    #[error("its interface lacks `{0}`")]
    Method(Cow<'static, str>),
}

impl From<Missing> for PluginFileError {
    fn from(Missing(field): Missing) -> PluginFileError {
        match field {
            VERSION_WORD => PluginFileError::NoVersionWord,
            method => PluginFileError::Method(method.into()),
        }
    }
}

const LIBRARIES_HINT: &str = ": add the directory of that library to LD_LIBRARY_PATH; the `uromd` of an installation searches its own `lib`";

/// Returns DOCA's library that the loader reports as missing; a path if it was linked by path.
fn missing_of_doca(text: &str) -> Option<&str> {
    let (name, reason) = text.split_once(": ")?;
    let is_of_doca = name.rsplit('/').next().is_some_and(|file| file.starts_with("libdoca_"));
    (is_of_doca && reason.contains("No such file")).then_some(name)
}

/// Loads a library from `lib` of this program's installation prefix; returns whether that worked.
/// The library stays loaded, so the loader then finds it by name. A run path cannot do that:
/// RUNPATH only applies to the program's own dependencies, and RPATH takes precedence over
/// `LD_LIBRARY_PATH`, also for UCX.
fn load_from_prefix(library: &str) -> bool {
    let Ok(program) = std::env::current_exe() else { return false };
    let Some(prefix) = program.parent().and_then(Path::parent) else { return false };
    let file = prefix.join("lib").join(library);
    // SAFETY: its constructors run; the library belongs to this program's own installation.
    file.is_file()
        && unsafe { Library::open(Some(file), RTLD_NOW | RTLD_LOCAL) }
            .map(ManuallyDrop::new)
            .is_ok()
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct PluginFile {
    pub(crate) version: u64,
    pub(crate) iface: PluginIface,
    pub(crate) methods: Methods,
    pub(crate) extension: PluginExtension,
}

/// Spare memory for a longer interface, which a plugin writes before its version can be read.
#[repr(C)]
struct LongIface {
    iface: PluginIface,
    _spare: [u64; 25],
}

const _: () = assert!(size_of::<LongIface>() == 256);

/// Files that this process or its parent before a fork loaded. For a path that it has loaded, the
/// loader returns the old file, even if the path now leads to another file.
static FILES: PerProcess<Mutex<BTreeMap<PathBuf, FileIdentity>>> = PerProcess::new(Mutex::default);

const REPLACED: &str = "it was replaced after this process had loaded it, which cannot load another instead: restart the program";

/// A loaded plugin file, with its two functions.
#[derive(Debug, Clone, Copy)]
pub struct Loaded {
    get_version: GetVersionFn,
    get_iface: GetIfaceFn,
    extension: PluginExtension,
}

impl Loaded {
    /// Loads `path`; it is never unloaded.
    ///
    /// # Errors
    /// `Load` or `Symbol`.
    ///
    /// # Safety
    /// The file's constructors run here, and its functions later. A file that exports a plugin's
    /// symbols must keep their contract.
    pub unsafe fn load(path: &Path) -> Result<Loaded, PluginFileError> {
        let identity = match FileIdentity::of(path) {
            // The loader would wait for the writer of a pipe.
            Err(error) if path.exists() => return Err(PluginFileError::Load(error.to_string())),
            identity => identity.ok(),
        };
        let files = || FILES.lock().unwrap_or_else(PoisonError::into_inner);
        let is_replaced = |files: &BTreeMap<PathBuf, FileIdentity>| {
            files.get(path).is_some_and(|before| Some(before) != identity.as_ref())
        };
        if is_replaced(&files()) || FILES.held_before(is_replaced) {
            return Err(PluginFileError::Load(REPLACED.to_owned()));
        }
        let mut tried = Vec::new();
        let library = loop {
            // SAFETY: the caller vouches for the constructors of the file.
            let error = match unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) } {
                Ok(library) => break ManuallyDrop::new(library),
                Err(error) => loader_text(&error),
            };
            let missing =
                missing_of_doca(&error).map(str::to_owned).filter(|name| !tried.contains(name));
            match missing {
                Some(name) if load_from_prefix(&name) => tried.push(name),
                _ => return Err(PluginFileError::Load(error)),
            }
        };
        if let Some(identity) = identity {
            files().entry(path.to_owned()).or_insert(identity);
        }
        // SAFETY: the caller vouches for the type of a plugin's symbol.
        let get_version = unsafe { symbol::<GetVersionFn>(&library, GET_VERSION_SYMBOL) }?;
        // SAFETY: see above.
        let get_iface = unsafe { symbol::<GetIfaceFn>(&library, GET_IFACE_SYMBOL) }?;
        // SAFETY: see above; this symbol is data.
        let extension = unsafe { library.get::<*const PluginExtension>(EXTENSION_SYMBOL) };
        let extension = extension.map_or(std::ptr::null(), |found| found.cast());
        // SAFETY: a pointer that is not NULL leads to a table of some release. The library is never
        // unloaded, so the table stays valid.
        let extension = unsafe { PluginExtension::read(extension) };
        Ok(Loaded { get_version, get_iface, extension })
    }

    /// Returns the plugin's extensions of DOCA's interface.
    pub fn extension(&self) -> PluginExtension {
        self.extension
    }

    /// Returns the result of `urom_plugin_get_version`.
    ///
    /// # Errors
    /// `Failed`.
    pub fn version(&self) -> Result<u64, PluginFileError> {
        let mut version = 0;
        // SAFETY: the caller of `load` vouches for the function; it writes only to `version`.
        unsafe { (self.get_version)(&mut version) }.check().map_err(failed(GET_VERSION_SYMBOL))?;
        Ok(version)
    }

    /// Returns `urom_plugin_get_iface`'s result: methods may be missing, the version word 0.
    ///
    /// # Errors
    /// `Failed`.
    pub fn iface(&self) -> Result<PluginIface, PluginFileError> {
        let mut long = LongIface { iface: PluginIface::EMPTY, _spare: [0; 25] };
        let target = (&raw mut long).cast::<PluginIface>();
        // SAFETY: as in `version`; `long` is larger than the interface of any release.
        unsafe { (self.get_iface)(target) }.check().map_err(failed(GET_IFACE_SYMBOL))?;
        Ok(long.iface)
    }
}

impl PluginFile {
    /// # Safety
    /// See [`Loaded::load`].
    pub(crate) unsafe fn open(path: &Path) -> Result<PluginFile, PluginFileError> {
        // SAFETY: the caller's promise.
        let loaded = unsafe { Loaded::load(path) }?;
        let (version, iface) = (loaded.version()?, loaded.iface()?);
        let methods = Methods::of(&iface)?;
        Ok(PluginFile { version, iface, methods, extension: loaded.extension })
    }
}

fn failed(symbol: &'static str) -> impl Fn(DocaError) -> PluginFileError {
    move |error| PluginFileError::Failed { symbol: symbol.into(), code: error.code() }
}

fn loader_text(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// # Safety
/// If the library exports `name`, it is a function of type `T`.
unsafe fn symbol<T: Copy>(library: &Library, name: &'static str) -> Result<T, PluginFileError> {
    // SAFETY: the caller's promise; a NULL symbol, which a loader may return, is `None` here.
    let symbol = unsafe { library.get::<Option<T>>(name) };
    symbol.ok().and_then(|found| *found).ok_or_else(|| PluginFileError::Symbol(name.into()))
}
