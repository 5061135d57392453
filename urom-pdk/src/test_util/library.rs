//! Loading a plugin library, as a worker does.

use std::ffi::{CStr, CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;

use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection};
use urom_abi::DocaError;
use urom_abi::describe::Protocol;
use urom_abi::describe::section::{self, Description, ReadError, SECTION};
use urom_abi::log::Level;
use urom_abi::plugin::{
    GET_IFACE_SYMBOL, GET_VERSION_SYMBOL, GetIfaceFn, GetVersionFn, PluginIface,
};

use crate::log;

/// The interface with room behind it: a plugin that was built against a longer one writes there,
/// before anybody can know.
#[repr(C)]
struct Roomy {
    iface: PluginIface,
    room: [u64; 25],
}

/// The interface of the plugin in `library`, which stays loaded, if it speaks `protocol`.
///
/// # Errors
/// See [`Worker::load`](super::Worker::load).
///
/// # Safety
/// The library is a plugin.
pub(super) unsafe fn iface(library: &Path, protocol: &Protocol) -> Result<PluginIface, DocaError> {
    let missing = |what: &str| {
        log::failure(Level::Error, None, format_args!("{}: {what}", library.display()));
        DocaError::NOT_FOUND
    };
    // The loader looks for a bare name elsewhere.
    let is_bare = library.parent().is_none_or(|directory| directory.as_os_str().is_empty());
    let path = if is_bare { Path::new(".").join(library) } else { library.to_owned() };
    let path =
        CString::new(path.as_os_str().as_bytes()).map_err(|_| missing("no path has a NUL"))?;
    // SAFETY: a C string; the caller says what the library may do when it is loaded.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    let handle = NonNull::new(handle)
        .ok_or_else(|| missing(&format!("it cannot be loaded: {}", loader_text())))?;
    let symbol = |name: &str| {
        let text = CString::new(name).map_err(|_| missing(name))?;
        // SAFETY: an open library and a C string.
        let found = unsafe { libc::dlsym(handle.as_ptr(), text.as_ptr()) };
        NonNull::new(found).ok_or_else(|| missing(&format!("it does not export `{name}`")))
    };
    let (get_iface, get_version) = (symbol(GET_IFACE_SYMBOL)?, symbol(GET_VERSION_SYMBOL)?);
    // SAFETY: a plugin's function of this name is one of this type.
    let get_version = unsafe { std::mem::transmute::<NonNull<c_void>, GetVersionFn>(get_version) };
    // SAFETY: as above.
    let get_iface = unsafe { std::mem::transmute::<NonNull<c_void>, GetIfaceFn>(get_iface) };
    let mut found = 0;
    // SAFETY: the plugin's function, with a word of this frame.
    unsafe { get_version(&mut found) }.check()?;
    let version = protocol.version;
    if found != version {
        log::failure(
            Level::Error,
            None,
            format_args!("{}: its version is {found}, and not {version}", library.display()),
        );
        return Err(DocaError::UNSUPPORTED_VERSION);
    }
    // A plugin without a description goes by its version alone.
    let difference = match described(library) {
        Some(Ok(theirs)) => protocol.difference(theirs.protocol),
        Some(Err(error)) => Some(error.to_string()),
        None => None,
    };
    if let Some(difference) = difference {
        log::failure(
            Level::Error,
            None,
            format_args!(
                "{}: {difference}; rebuild the plugin, or raise `version` in the definition that changed",
                library.display()
            ),
        );
        return Err(DocaError::UNSUPPORTED_VERSION);
    }
    let mut roomy = Roomy { iface: PluginIface::EMPTY, room: [0; 25] };
    let place = (&raw mut roomy).cast::<PluginIface>();
    // SAFETY: the plugin's function, with a structure of this frame and more room than any
    // interface takes.
    unsafe { get_iface(place) }.check()?;
    Ok(roomy.iface)
}

/// What the file says of its plugin; `None` for one in C.
fn described(library: &Path) -> Option<Result<Description, ReadError>> {
    let bytes = std::fs::read(library).ok()?;
    let elf = ElfFile64::<Endianness>::parse(&*bytes).ok()?;
    Some(section::read(elf.section_by_name(SECTION)?.data().ok()?))
}

/// What the loader says of the last failure on this thread.
fn loader_text() -> String {
    // SAFETY: it may be called at any time.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "the loader does not say why".to_owned();
    }
    // SAFETY: a C string, which stays until this thread calls the loader again.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
