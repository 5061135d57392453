//! Checks of a plugin's file without loading it.

use std::fmt::Display;
use std::path::Path;
use urom_message::quoted;

use urom_abi::Quantity;
use urom_abi::describe::section::Panic;
use urom_abi::extension::EXTENSION_SYMBOL;
use urom_abi::plugin::{GET_IFACE_SYMBOL, PLUGIN_NAME_CAPACITY};

use super::image::{Image, is_of_the_build_machine};
use super::report::CheckReport;
use crate::elf::{ElfFile, ElfMachine, SYMBOLS, Unusable};

pub(super) fn machine(report: &mut CheckReport, elf: &ElfFile, wanted: Option<ElfMachine>) {
    report.machine = elf.machine.as_ref().ok().copied();
    let file = elf.machine_name();
    match wanted {
        Some(wanted) if report.machine != Some(wanted) => {
            report.other_machine(file, wanted.name(), wanted.triple())
        }
        None if report.machine.is_none() => report.no_machine(file, ElfMachine::Aarch64.triple()),
        _ => {}
    }
}

/// Checks the file's name, which is the plugin's, against its description.
pub(super) fn names(report: &mut CheckReport, file: &Path, elf: &ElfFile) {
    const MOST: usize = PLUGIN_NAME_CAPACITY - 1;
    let name = report.plugin.clone();
    if file.extension().is_none_or(|extension| extension != "so") {
        report.file_name(file.file_name().unwrap_or_default().display());
    }
    if name.len() > MOST {
        report.name_length(&name, name.len(), MOST);
    }
    match &elf.description {
        None => {
            if let Some(bare) = name.strip_prefix("lib") {
                report.library_name(&name, bare);
            }
        }
        Some(Err(Unusable::Damaged(reason))) => report.damaged_description(reason),
        Some(Err(Unusable::Odd(reason))) => report.odd_description(reason),
        Some(Ok(description)) => {
            if name != description.protocol.name {
                report.name_differs(&name, description.protocol.name);
            }
            if description.build.panic == Panic::Abort {
                report.panic_aborts();
            }
        }
    }
}

pub(super) fn exports(report: &mut CheckReport, elf: &ElfFile) -> bool {
    let mut is_complete = true;
    for entry in SYMBOLS {
        match elf.export(entry) {
            Some(export) if export.function => continue,
            // The loader reports a missing symbol.
            None if elf.sectionless => continue,
            None => report.no_symbol(entry, declaration(entry)),
            Some(_) => report.no_function(entry, declaration(entry)),
        }
        is_complete = false;
    }
    let mut names: Vec<&str> = elf.exports.iter().map(|export| &*export.name).collect();
    names.sort_unstable();
    for same in names.chunk_by(|one, other| one == other).filter(|same| same.len() > 1) {
        match SYMBOLS.contains(&same[0]) {
            true => report.two_entries(same[0]),
            false => report.two_exports(same[0]),
        }
    }
    names.dedup();
    // The kit's workers call this function to pass their log.
    names.retain(|name| !SYMBOLS.contains(name) && *name != EXTENSION_SYMBOL);
    if !names.is_empty() {
        report.other_exports(Quantity(names.len(), "symbol"), some(&names));
    }
    is_complete
}

pub(super) fn declaration(name: &str) -> String {
    let argument = match name == GET_IFACE_SYMBOL {
        true => "struct urom_plugin_iface *iface",
        false => "uint64_t *version",
    };
    format!("doca_error_t {name}({argument})")
}

pub(super) fn images(report: &mut CheckReport, elf: &ElfFile, images: &[Image]) {
    if let Some(needs) = &elf.glibc {
        let older = images.iter().filter(|image| image.glibc < needs.version);
        let older: Vec<_> =
            older.map(|image| format!("{} has {}", image.title, image.glibc)).collect();
        let what = match needs.symbols.is_empty() {
            true => needs.version.to_string(),
            false => format!("{} for {}", needs.version, some(&needs.symbols)),
        };
        match older.len() {
            0 => {}
            len if len == images.len() => report.glibc_of_none(what, older.join(", ")),
            _ => report.glibc_of_some(what, older.join(", ")),
        }
    }
    for name in &elf.needed {
        let lack = images.iter().filter(|image| !image.has(name)).map(|image| image.title);
        let lack: Vec<_> = lack.collect();
        if name.starts_with("libstd-") {
            report.build_library(name, "`-C prefer-dynamic`");
        } else if is_of_the_build_machine(name) {
            report.build_library(name, "`-fsanitize` for the target");
        } else if !lack.is_empty() {
            report.library(name, lack.join(", "));
        }
    }
}

fn some(names: &[impl Display]) -> String {
    const SHOWN: usize = 4;
    let shown = quoted(&names[..names.len().min(SHOWN)]);
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
