//! Loads a plugin library like a worker.

use std::fmt;
use std::mem::ManuallyDrop;
use std::path::Path;

use libloading::Library;
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection};
use urom_abi::DocaError;
use urom_abi::describe::Protocol;
use urom_abi::describe::section::{self, Description, ReadError, SECTION};
use urom_abi::extension::{EXTENSION_SYMBOL, PluginExtension, Words};
use urom_abi::log::Level;
use urom_abi::plugin::{
    GET_IFACE_SYMBOL, GET_VERSION_SYMBOL, GetIfaceFn, GetVersionFn, PluginIface,
};

use crate::log;

/// Space for a longer interface: the plugin writes before its version can be checked.
#[repr(C)]
struct PaddedIface {
    iface: PluginIface,
    padding: [u64; 25],
}

/// Returns the plugin's functions. Errors: see [`Worker::load`](super::Worker::load).
/// # Safety
/// The library is a plugin.
pub(super) unsafe fn methods(
    library: &Path,
    protocol: &Protocol,
) -> Result<(PluginIface, PluginExtension), DocaError> {
    let fails = |code: DocaError, what: fmt::Arguments<'_>| {
        log::failure(Level::Error, None, format_args!("{}: {what}", library.display()));
        code
    };
    let missing = |error: libloading::Error| {
        let why = std::error::Error::source(&error).map_or(error.to_string(), ToString::to_string);
        fails(DocaError::NOT_FOUND, format_args!("it cannot be loaded: {why}"))
    };
    // The loader searches for bare names elsewhere.
    let is_bare = library.parent().is_none_or(|directory| directory.as_os_str().is_empty());
    let path = if is_bare { Path::new(".").join(library) } else { library.to_owned() };
    // SAFETY: the caller guarantees that the library may be loaded.
    let loaded = ManuallyDrop::new(unsafe { Library::new(path) }.map_err(missing)?);
    // SAFETY: a plugin's function of this name has this type.
    let get_version = unsafe { loaded.get::<GetVersionFn>(GET_VERSION_SYMBOL) }.map_err(missing)?;
    // SAFETY: the caller guarantees that the plugin's symbols are DOCA's functions of these names.
    let get_iface = unsafe { loaded.get::<GetIfaceFn>(GET_IFACE_SYMBOL) }.map_err(missing)?;
    let (mut found, version) = (0, protocol.version);
    // SAFETY: the plugin's function, with a writable word.
    unsafe { get_version(&mut found) }.check()?;
    if found != version {
        let what = format_args!("its version is {found}, and not {version}");
        return Err(fails(DocaError::UNSUPPORTED_VERSION, what));
    }
    // A plugin without a description is only checked by its version.
    let difference = match described(library) {
        Some(Ok(theirs)) => protocol.difference(theirs.protocol),
        Some(Err(error)) => Some(error.to_string()),
        None => None,
    };
    if let Some(difference) = difference {
        let what = format_args!(
            "{difference}; rebuild the plugin, or raise `version` in the definition that changed"
        );
        return Err(fails(DocaError::UNSUPPORTED_VERSION, what));
    }
    let mut long = PaddedIface { iface: PluginIface::EMPTY, padding: [0; 25] };
    let iface = (&raw mut long).cast::<PluginIface>();
    // SAFETY: the plugin's function, with a structure longer than any interface.
    unsafe { get_iface(iface) }.check()?;
    // SAFETY: this symbol is the table of a plugin of this kit, or absent.
    let table = unsafe { loaded.get::<*const PluginExtension>(EXTENSION_SYMBOL) };
    let table = table.map_or(std::ptr::null(), |table| *table);
    // SAFETY: NULL, or the plugin's table.
    let extension = unsafe { PluginExtension::read(table) };
    Ok((long.iface, extension))
}

/// Returns the description in the file; `None` for a plugin in C.
fn described(library: &Path) -> Option<Result<Description, ReadError>> {
    let bytes = std::fs::read(library).ok()?;
    let elf = ElfFile64::<Endianness>::parse(&*bytes).ok()?;
    Some(section::read(elf.section_by_name(SECTION)?.data().ok()?))
}
