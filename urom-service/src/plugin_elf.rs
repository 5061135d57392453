//! Reads a plugin file without running its constructors: its machine, its two symbols, its
//! description. The bytes are not trusted: the file's size bounds all reads.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::ops::Range;
use std::path::Path;

use object::elf::{ET_DYN, STT_FUNC, STT_GNU_IFUNC, STV_DEFAULT, STV_PROTECTED};
use object::read::elf::{ElfFile64, FileHeader, Sym};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, ReadCache, ReadRef};
use urom_abi::describe::section::{self, Description, MAX_LEN, ReadError, SECTION};
use urom_abi::plugin::{GET_IFACE_SYMBOL, GET_VERSION_SYMBOL, PLUGIN_NAME_CAPACITY};
use urom_os::{machine, named_file};

/// Size limit of one read: a symbol table or a table of names. Files may be larger, and have holes.
const MOST: u64 = 1 << 28;

/// The properties of a shared library for this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginElf {
    /// Plugin symbols that the file does not export. Empty for a plugin, and for a file without
    /// section headers, whose symbols only the loader finds.
    pub missing: Vec<&'static str>,
    /// The description in its section, if present: Rust plugins of this kit have it.
    pub description: Option<Result<Description, ReadError>>,
}

/// The reason why a file cannot be a plugin for this machine.
#[derive(Debug, thiserror::Error)]
pub enum LookError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is for another machine.
    #[error("{0}")]
    Foreign(String),
    /// The file is not an ELF file, or is another kind of ELF file.
    #[error("is not a shared library: {0}")]
    NotShared(&'static str),
    /// The file's tables are damaged.
    #[error("cannot be read as an ELF file: {0}")]
    Damaged(#[from] object::read::Error),
}

/// Reads a file without running any of it.
///
/// # Errors
/// The reason why this program cannot load the file as a plugin.
pub fn look(path: &Path) -> Result<PluginElf, LookError> {
    let mut file = named_file::open(path, 0)?;
    let mut header = [0; machine::HEADER_LEN];
    match file.read_exact(&mut header) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return Err(LookError::NotShared("the file is too short"));
        }
        read => read?,
    }
    if !header.starts_with(b"\x7fELF") {
        return Err(LookError::NotShared("it does not begin as an ELF file does"));
    }
    if let Some(remark) = machine::foreign(&header) {
        return Err(LookError::Foreign(remark));
    }
    file.rewind()?;
    // Reads only the requested parts: plugins with debug information are large.
    let cache = ReadCache::new(file);
    let elf = ElfFile64::<Endianness, _>::parse(InPieces(&cache))?;
    if elf.elf_header().e_type(elf.endian()) != ET_DYN {
        return Err(LookError::NotShared("it is another kind of ELF file, such as an object file"));
    }
    let exports = exports(&elf)?;
    let mut missing = vec![GET_VERSION_SYMBOL, GET_IFACE_SYMBOL];
    let is_sectionless = elf.sections().next().is_none();
    missing.retain(|name| !is_sectionless && exports.iter().all(|export| export.name != *name));
    Ok(PluginElf { missing, description: description(&elf)? })
}

/// A symbol that a shared object exports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// Its name, without a version.
    pub name: String,
    /// Whether it is a function.
    pub function: bool,
}

/// Returns a file's exports, in file order. A name with two versions occurs twice.
///
/// # Errors
/// The file's tables are damaged.
pub fn exports<'data, R: ReadRef<'data>>(
    elf: &ElfFile64<'data, Endianness, R>,
) -> object::Result<Vec<Export>> {
    let mut exports = Vec::new();
    for symbol in elf.dynamic_symbols() {
        let raw = symbol.elf_symbol();
        // Version names are also symbols, without a section.
        if symbol.is_local()
            || raw.is_undefined(elf.endian())
            || raw.is_absolute(elf.endian())
            || !matches!(raw.st_visibility(), STV_DEFAULT | STV_PROTECTED)
        {
            continue;
        }
        let name = String::from_utf8_lossy(symbol.name_bytes()?).into_owned();
        let function = matches!(raw.st_type(), STT_FUNC | STT_GNU_IFUNC);
        exports.push(Export { name, function });
    }
    Ok(exports)
}

#[derive(Clone, Copy)]
struct InPieces<'a>(&'a ReadCache<File>);

impl<'a> ReadRef<'a> for InPieces<'a> {
    fn len(self) -> Result<u64, ()> {
        self.0.len()
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        if size <= MOST { self.0.read_bytes_at(offset, size) } else { Err(()) }
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        self.0.read_bytes_at_until(range, delimiter)
    }
}

/// Returns the description in a file for any machine; `None` without the section.
///
/// # Errors
/// The file's tables are damaged.
pub fn description<'data, R: ReadRef<'data>>(
    elf: &ElfFile64<'data, Endianness, R>,
) -> object::Result<Option<Result<Description, ReadError>>> {
    Ok(match elf.section_by_name(SECTION) {
        Some(section) if section.size() > MAX_LEN as u64 => {
            Some(Err(ReadError::TooLong { found: section.size() }))
        }
        Some(section) => Some(section::read(section.data()?)),
        None => None,
    })
}

/// Returns the plugin name of a file: its name without `.so`.
///
/// Cargo's `libNAME.so`, with `_` for `-`, is the plugin `NAME` if its description states the name.
///
/// # Errors
/// The reason why a service ignores a file of this name.
pub fn plugin_name(file: &Path, stated: Option<&str>) -> Result<String, String> {
    if file.extension() != Some(OsStr::new("so")) && file.file_name() != Some(OsStr::new(".so")) {
        return Err("its name does not end in `.so`".to_owned());
    }
    let name = file.file_stem().unwrap_or_default();
    let name = name.to_str().ok_or("its name is not UTF-8")?;
    let as_built = |stated: &&str| {
        name.strip_prefix("lib").is_some_and(|name| name == stated.replace('-', "_"))
    };
    let name = stated.filter(as_built).unwrap_or(name);
    if name == ".so" || name.is_empty() {
        return Err("it lacks a name before `.so`".to_owned());
    }
    if name.len() >= PLUGIN_NAME_CAPACITY {
        let most = PLUGIN_NAME_CAPACITY - 1;
        return Err(format!("its name has {} bytes, and {most} is the most", name.len()));
    }
    Ok(name.to_owned())
}

impl PluginElf {
    /// Returns the description, if it is present and readable.
    #[must_use]
    pub fn described(&self) -> Option<Description> {
        self.description.as_ref()?.as_ref().ok().copied()
    }

    /// Returns the name in the description.
    #[must_use]
    pub fn stated_name(&self) -> Option<&'static str> {
        Some(self.described()?.protocol.name)
    }

    /// Returns the fingerprint of the description.
    #[must_use]
    pub fn fingerprint(&self) -> Option<u64> {
        Some(self.described()?.protocol.fingerprint())
    }
}
