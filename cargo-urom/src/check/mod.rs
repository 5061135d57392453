//! `cargo urom check`: whether a service will take a file.

mod finding;
mod image;
mod probe;
mod report;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use urom_abi::describe::section::Panic;
use urom_abi::plugin::PLUGIN_NAME_CAPACITY;
use urom_abi::worker_log::SET_LOG_SYMBOL;
use urom_service::plugin_elf;

use crate::elf::{ElfFile, Machine, SYMBOLS, bytes_of};
use crate::{exit, output};
use finding::Finding;
use image::{IMAGES, is_of_the_build_machine};
use report::Report;

pub(crate) use image::Image;
pub(crate) use urom_service::examine::DEADLINE as LIMIT;

const EXAMPLES: &str = "\
Examples:
  cargo urom check target/release/urom/worker_graph.so
  cargo urom check --image ubuntu-22.04 worker_graph.so
  cargo urom check --json worker_graph.so | jq '.findings[].text'

Exit codes: 0 when there is no error (warnings and notes do not count), 1 when there is one, 2 for a wrong command line.";

/// The verb's arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The plugin's shared object. It is loaded in a process of its own if it is for this machine.
    file: PathBuf,
    /// The machine it has to be for, such as aarch64-unknown-linux-gnu; any that workers run on if not given.
    #[arg(long, value_name = "TRIPLE", value_parser = machine)]
    target: Option<Machine>,
    /// The operating system of the BlueField it is for: ubuntu-22.04, ubuntu-24.04, debian-12, oracle-8 or oracle-9. A file
    /// for aarch64 is held against all of them if not given.
    #[arg(long, value_name = "NAME", value_parser = Image::named)]
    image: Option<&'static Image>,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
    /// How long the plugin may take for being loaded and asked, in seconds.
    #[arg(long, value_name = "SECONDS", hide = true, default_value_t = LIMIT.as_secs(),
        value_parser = clap::value_parser!(u64).range(1..=3600))]
    limit: u64,
}

/// The machine of a target, for an argument.
pub(crate) fn machine(triple: &str) -> Result<Machine, String> {
    Machine::of_target(triple).ok_or_else(|| {
        "expected a target of x86_64 or aarch64, such as aarch64-unknown-linux-gnu".to_owned()
    })
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let target = match (args.target, args.image) {
        (Some(Machine::X86_64), Some(image)) => {
            return Err(exit::usage(format!(
                "{} is an operating system of BlueFields, which are aarch64: leave out --target",
                image.name
            )));
        }
        (None, Some(_)) => Some(Machine::Aarch64),
        (target, _) => target,
    };
    let report = examine(&args.file, target, args.image, Duration::from_secs(args.limit))?;
    match args.json {
        true => output::json(&report.json())?,
        false => output::result(&report.text())?,
    }
    Ok(if report.is_bad() { exit::FAILED } else { exit::DONE })
}

/// Looks at a file: for a machine, or any that workers run on, and one image, or all. `limit` is how long its functions may
/// take.
///
/// # Errors
/// The file cannot be read, or no process started to try it in.
pub(crate) fn examine(
    file: &Path,
    target: Option<Machine>,
    image: Option<&'static Image>,
    limit: Duration,
) -> Result<Report> {
    let bytes = bytes_of(file)?;
    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut report = Report {
        file: file.to_owned(),
        name,
        elf: None,
        version: None,
        word: None,
        findings: Vec::new(),
    };
    let elf = match ElfFile::read(&bytes) {
        Ok(elf) => elf,
        Err(reason) => {
            report.findings.push(Finding::NotElf(reason));
            return Ok(report);
        }
    };
    let stated = elf.description.as_ref().and_then(|description| description.as_ref().ok());
    // Why a service passes over the others is among the findings.
    if let Ok(name) =
        plugin_elf::plugin_name(file, stated.map(|description| description.protocol.name))
    {
        report.name = name;
    }
    let findings = &mut report.findings;
    findings.extend(machine_finding(&elf, target));
    if elf.shared {
        names(file, &report.name, &elf, findings);
        exports(&elf, findings);
        // What is not complete is not loaded: a program would only refuse it.
        let sound = findings
            .iter()
            .all(|finding| !matches!(finding, Finding::NoSymbol(_) | Finding::NoFunction(_)));
        match elf.machine {
            Ok(machine) if Machine::OURS == Some(machine) && sound => {
                let examined = probe::probe(file, limit)?;
                findings.extend(probe::findings(&examined));
                (report.version, report.word) = (examined.version, examined.api_version);
            }
            Ok(machine) if Machine::OURS != Some(machine) => {
                findings.push(Finding::NotCalled(machine))
            }
            _ => {}
        }
        match (&elf.machine, image) {
            (Ok(Machine::Aarch64), Some(image)) => {
                images(&elf, std::slice::from_ref(image), findings)
            }
            (Ok(Machine::Aarch64), None) => images(&elf, &IMAGES, findings),
            _ => {}
        }
        if elf.debug_bytes > 0 {
            findings.push(Finding::Unstripped { bytes: elf.debug_bytes });
        }
    } else {
        findings.push(Finding::NotShared);
    }
    report.elf = Some(elf);
    Ok(report)
}

fn machine_finding(elf: &ElfFile, wanted: Option<Machine>) -> Option<Finding> {
    let right = match (&elf.machine, wanted) {
        (Ok(file), Some(wanted)) => *file == wanted,
        (Ok(_), None) => true,
        (Err(_), _) => false,
    };
    (!right).then(|| Finding::Machine { file: elf.machine.clone(), wanted })
}

/// The file's name, which is the plugin's.
fn names(file: &Path, name: &str, elf: &ElfFile, findings: &mut Vec<Finding>) {
    if file.extension().is_none_or(|extension| extension != "so") {
        findings.push(Finding::FileName(
            file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        ));
    }
    if name.len() >= PLUGIN_NAME_CAPACITY {
        findings.push(Finding::NameLength { name: name.to_owned() });
    }
    match &elf.description {
        None if name.starts_with("lib") => {
            findings.push(Finding::LibraryName { name: name.to_owned() })
        }
        None => {}
        Some(Err(reason)) => findings.push(Finding::Description(reason.clone())),
        Some(Ok(description)) => {
            let described = description.protocol.name;
            if name != described {
                findings.push(Finding::NameDiffers {
                    file: name.to_owned(),
                    described: described.to_owned(),
                });
            }
            if description.build.panic == Panic::Abort {
                findings.push(Finding::PanicAborts);
            }
        }
    }
}

fn exports(elf: &ElfFile, findings: &mut Vec<Finding>) {
    for entry in SYMBOLS {
        match elf.export(entry) {
            // The loader finds it, or says that it does not.
            None if elf.sectionless => {}
            None => findings.push(Finding::NoSymbol(entry)),
            Some(export) if !export.function => findings.push(Finding::NoFunction(entry)),
            Some(_) => {}
        }
    }
    let mut names: Vec<&str> = elf.exports.iter().map(|export| &*export.name).collect();
    names.sort_unstable();
    let (mut others, mut twice) = (Vec::new(), None);
    for pair in names.windows(2).filter(|pair| pair[0] == pair[1]) {
        if twice.replace(pair[0]) != Some(pair[0]) {
            findings.push(Finding::TwoExports { name: pair[0].to_owned() });
        }
    }
    names.dedup();
    // The kit's own function, by which its workers hand over their log.
    let is_asked_for = |name: &&str| SYMBOLS.contains(name) || *name == SET_LOG_SYMBOL;
    others.extend(names.into_iter().filter(|name| !is_asked_for(name)).map(str::to_owned));
    if !others.is_empty() {
        findings.push(Finding::OtherExports(others));
    }
}

/// Holds what the file needs against images.
fn images(elf: &ElfFile, images: &[Image], findings: &mut Vec<Finding>) {
    if let Some(needs) = &elf.glibc {
        let older = images.iter().filter(|image| image.glibc < needs.version);
        let older: Vec<_> = older.map(|image| (image.title, image.glibc)).collect();
        if !older.is_empty() {
            let all = older.len() == images.len();
            findings.push(Finding::Glibc { needs: needs.clone(), images: older, all });
        }
    }
    for name in &elf.needed {
        if is_of_the_build_machine(name) {
            findings.push(Finding::BuildLibrary { name: name.clone() });
            continue;
        }
        let lack: Vec<_> =
            images.iter().filter(|image| !image.has(name)).map(|image| image.title).collect();
        if !lack.is_empty() {
            findings.push(Finding::Library { name: name.clone(), images: lack });
        }
    }
}
