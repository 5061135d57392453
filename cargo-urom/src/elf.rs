//! Reads shared objects without loading them. The files are not trusted.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};
use object::elf;
use object::read::ImportFlags;
use object::read::elf::{ElfFile64, FileHeader, SectionHeader};
use object::{Endianness, Object};
use urom_abi::describe::section::Description;
use urom_abi::plugin::{GET_IFACE_SYMBOL, GET_VERSION_SYMBOL};
use urom_os::{machine, named_file};
use urom_service::plugins::{self, Export};

use crate::description::sane::sane;

pub(crate) const SYMBOLS: [&str; 2] = [GET_IFACE_SYMBOL, GET_VERSION_SYMBOL];

/// A machine that DOCA's workers run on; the value is its ELF number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[repr(u16)]
pub(crate) enum ElfMachine {
    X86_64 = machine::X86_64,
    Aarch64 = machine::AARCH64,
}

impl ElfMachine {
    pub(crate) fn ours() -> Option<ElfMachine> {
        ElfMachine::of_target(std::env::consts::ARCH)
    }

    /// Returns the machine of a target triple, or of its first word.
    pub(crate) fn of_target(triple: &str) -> Option<ElfMachine> {
        match triple.split('-').next() {
            Some("x86_64") => Some(ElfMachine::X86_64),
            Some("aarch64") => Some(ElfMachine::Aarch64),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> String {
        machine::name(self as u16)
    }

    pub(crate) fn triple(self) -> &'static str {
        match self {
            ElfMachine::X86_64 => "x86_64-unknown-linux-gnu",
            ElfMachine::Aarch64 => "aarch64-unknown-linux-gnu",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GlibcVersion(pub(crate) u32, pub(crate) u32);

impl fmt::Display for GlibcVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Glibc {
    pub(crate) version: GlibcVersion,
    pub(crate) symbols: Vec<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct ElfFile {
    /// `Err` contains another machine's name.
    pub(crate) machine: Result<ElfMachine, String>,
    /// Whether it is a shared object: not a program and not an object file.
    pub(crate) shared: bool,
    /// Dynamic symbols, in the file's order. A name may occur twice, with two versions.
    pub(crate) exports: Vec<Export>,
    pub(crate) needed: Vec<String>,
    pub(crate) glibc: Option<Glibc>,
    /// Number of bytes that `strip` would remove.
    pub(crate) debug_bytes: u64,
    /// Whether section headers are missing. Then only the loader finds its symbols.
    pub(crate) sectionless: bool,
    pub(crate) description: Option<Result<Description, Unusable>>,
}

/// Why a description is unusable: a sentence without capital and full stop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unusable {
    /// Unreadable: services refuse the file.
    #[error("{0}")]
    Damaged(String),
    /// A macro cannot produce it. Services do not check that.
    #[error("{0}")]
    Odd(String),
}

/// Limit of a file in bytes. A larger file is sparse.
const MOST: usize = 1 << 32;

pub(crate) fn bytes_of(file: &Path) -> Result<Vec<u8>> {
    named_file::read(file, MOST).with_context(|| format!("{} cannot be read", file.display()))
}

impl ElfFile {
    pub(crate) fn read(bytes: &[u8]) -> Result<ElfFile, String> {
        if bytes.get(..4) != Some(&elf::ELFMAG) {
            return Err("it is not an ELF file".to_owned());
        }
        if bytes.get(4) == Some(&elf::ELFCLASS32.0) {
            return Err("it is for a machine of 32 bits".to_owned());
        }
        parse(bytes).map_err(|error| format!("its ELF structure is damaged: {error}"))
    }

    pub(crate) fn machine_name(&self) -> String {
        self.machine.as_ref().map_or_else(Clone::clone, |machine| machine.name())
    }

    pub(crate) fn export(&self, name: &str) -> Option<&Export> {
        self.exports.iter().find(|export| export.name == name)
    }
}

fn parse(bytes: &[u8]) -> object::Result<ElfFile> {
    let file = ElfFile64::<Endianness>::parse(bytes)?;
    let (header, endian, sections) = (file.elf_header(), file.endian(), file.elf_section_table());
    let mut dynamic = sections.dynamic_table(endian, bytes)?.iter();
    let is_program =
        dynamic.any(|entry| entry.tag == elf::DT_FLAGS_1 && entry.val & elf::DF_1_PIE.0 != 0);
    let libraries = file.import_libraries()?.map(|library| Ok(text(library?.name())));
    let mut debug_bytes = 0u64;
    for section in sections.iter() {
        let name = sections.section_name(endian, section)?;
        if is_for_debuggers(name, section.sh_type(endian)) {
            debug_bytes = debug_bytes.saturating_add(section.sh_size(endian));
        }
    }
    Ok(ElfFile {
        machine: match header.e_machine(endian) {
            elf::EM_X86_64 => Ok(ElfMachine::X86_64),
            elf::EM_AARCH64 if endian == Endianness::Little => Ok(ElfMachine::Aarch64),
            elf::EM_AARCH64 => {
                Err(format!("{} in big-endian order", machine::name(machine::AARCH64)))
            }
            other => Err(machine::name(other.0)),
        },
        shared: header.e_type(endian) == elf::ET_DYN && !is_program,
        exports: plugins::exports(&file)?,
        needed: libraries.collect::<object::Result<_>>()?,
        glibc: glibc(&file)?,
        debug_bytes,
        sectionless: sections.is_empty(),
        description: plugins::description(&file)?.map(|read| {
            let description = read.map_err(|error| Unusable::Damaged(error.to_string()))?;
            sane(description.protocol).map(|()| description).map_err(Unusable::Odd)
        }),
    })
}

/// Whether only debuggers use a section, so `strip` may remove it.
pub(crate) fn is_for_debuggers(name: &[u8], kind: elf::SectionType) -> bool {
    kind == elf::SHT_SYMTAB
        || name == b".strtab"
        || name.starts_with(b".debug_")
        || name == b".gdb_index"
}

/// Returns the newest glibc version that the file requires, and its symbols.
fn glibc(file: &ElfFile64<'_>) -> object::Result<Option<Glibc>> {
    let (endian, sections) = (file.endian(), file.elf_section_table());
    let mut wanted: BTreeMap<GlibcVersion, Vec<String>> = BTreeMap::new();
    // The file may require a version without using its symbols.
    if let Some((mut files, link)) = sections.gnu_verneed(endian, file.data())? {
        let strings = sections.strings(endian, file.data(), link)?;
        while let Some((_, mut names)) = files.next()? {
            while let Some(name) = names.next()? {
                let version = glibc_version(name.name(endian, strings)?);
                version.map(|version| wanted.entry(version).or_default());
            }
        }
    }
    for import in file.imports()? {
        let import = import?;
        if let ImportFlags::Elf { version: Some(version), .. } = import.flags()
            && let Some(version) = glibc_version(version)
        {
            let name = import.name().name().map(text);
            wanted.entry(version).or_default().extend(name);
        }
    }
    Ok(wanted.pop_last().map(|(version, symbols)| Glibc { version, symbols }))
}

/// Parses `GLIBC_2.34`. Packed relocations require a name instead of their version.
fn glibc_version(name: &[u8]) -> Option<GlibcVersion> {
    let name = std::str::from_utf8(name).ok()?.strip_prefix("GLIBC_")?;
    if name == "ABI_DT_RELR" {
        return Some(GlibcVersion(2, 36));
    }
    let mut parts = name.split('.');
    Some(GlibcVersion(parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_glibc_are_read_and_other_names_are_not() {
        assert_eq!(glibc_version(b"GLIBC_2.34"), Some(GlibcVersion(2, 34)));
        assert_eq!(glibc_version(b"GLIBC_2.2.5"), Some(GlibcVersion(2, 2)));
        assert_eq!(glibc_version(b"GLIBC_ABI_DT_RELR"), Some(GlibcVersion(2, 36)));
        for name in
            [&b"GLIBC_PRIVATE"[..], b"GLIBCXX_3.4", b"GCC_3.0", b"GLIBC_", b"GLIBC_2", b"\xff"]
        {
            assert_eq!(glibc_version(name), None, "{name:?}");
        }
    }

    #[test]
    fn a_file_that_was_cut_or_changed_anywhere_is_refused_or_read_but_never_a_panic() {
        let whole = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(ElfFile::read(&whole).is_ok_and(|file| !file.shared && file.glibc.is_some()));
        for len in (0..64).chain((64..whole.len()).step_by(whole.len() / 50)) {
            let _ = ElfFile::read(&whole[..len]);
        }
        let mut changed = whole;
        for at in 0..64 {
            let was = changed[at];
            for value in [0, 1, 0x7f, 0xff] {
                changed[at] = value;
                let _ = ElfFile::read(&changed);
            }
            changed[at] = was;
        }
    }
}
