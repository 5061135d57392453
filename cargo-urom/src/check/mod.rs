//! `cargo urom check`: checks whether a service accepts a file.

mod file;
mod findings;
mod image;
mod probe;
mod report;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use urom_service::plugins;

use crate::elf::{ElfFile, ElfMachine, bytes_of};
use crate::{exit, output};
use image::IMAGES;
use report::CheckReport;

pub(crate) use image::Image;
pub(crate) use plugins::DEADLINE as LIMIT;

#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("help.txt"))]
pub(crate) struct CheckArgs {
    /// The plugin's shared object. If it is for this machine, a separate process loads it.
    file: PathBuf,
    /// The required machine, such as aarch64-unknown-linux-gnu; default: any supported machine.
    #[arg(long, value_name = "TRIPLE", value_parser = machine)]
    target: Option<ElfMachine>,
    /// The operating system of the BlueField: ubuntu-22.04, ubuntu-24.04, debian-12, oracle-8 or
    /// oracle-9. Default for an aarch64 file: all of these.
    #[arg(long, value_name = "NAME", value_parser = Image::named)]
    image: Option<&'static Image>,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
    /// Timeout for loading and calling the plugin, in seconds.
    #[arg(long, value_name = "SECONDS", hide = true, default_value_t = LIMIT.as_secs(),
        value_parser = clap::value_parser!(u64).range(1..=3600))]
    limit: u64,
}

pub(crate) fn machine(triple: &str) -> Result<ElfMachine, String> {
    ElfMachine::of_target(triple).ok_or_else(|| {
        "expected a target of x86_64 or aarch64, such as aarch64-unknown-linux-gnu".to_owned()
    })
}

pub(crate) fn run(args: &CheckArgs) -> Result<u8> {
    let target = match (args.target, args.image) {
        (Some(ElfMachine::X86_64), Some(image)) => {
            return Err(exit::usage(format!(
                "{} is an operating system of BlueFields, which are aarch64: leave out --target",
                image.name
            )));
        }
        (None, Some(_)) => Some(ElfMachine::Aarch64),
        (target, _) => target,
    };
    let report = examine(&args.file, target, args.image, Duration::from_secs(args.limit))?;
    match args.json {
        true => output::json(&report)?,
        false => output::result(&report.text())?,
    }
    Ok(if report.is_bad() { exit::FAILED } else { exit::DONE })
}

pub(crate) fn examine(
    path: &Path,
    target: Option<ElfMachine>,
    image: Option<&'static Image>,
    limit: Duration,
) -> Result<CheckReport> {
    let bytes = bytes_of(path)?;
    let mut report = CheckReport::new(path);
    let elf = match ElfFile::read(&bytes) {
        Ok(elf) => elf,
        Err(reason) => {
            report.not_elf(reason);
            return Ok(report);
        }
    };
    let stated = elf.description.as_ref().and_then(|description| description.as_ref().ok());
    // The findings explain why a service ignores a file with another name.
    if let Ok(name) =
        plugins::plugin_name(path, stated.map(|description| description.protocol.name))
    {
        report.plugin = name;
    }
    report.glibc = elf.glibc.as_ref().map(|glibc| glibc.version.to_string());
    report.needed.clone_from(&elf.needed);
    file::machine(&mut report, &elf, target);
    if !elf.shared {
        report.not_shared();
        return Ok(report);
    }
    file::names(&mut report, path, &elf);
    let is_complete = file::exports(&mut report, &elf);
    match report.machine {
        Some(machine) if ElfMachine::ours() != Some(machine) => report.not_called(machine.name()),
        // A file without an entry function is not loaded: the loader would only refuse it.
        Some(_) if is_complete => probe::probe(&mut report, path, limit)?,
        _ => {}
    }
    if report.machine == Some(ElfMachine::Aarch64) {
        file::images(&mut report, &elf, image.map_or(&IMAGES, std::slice::from_ref));
    }
    if elf.debug_bytes > 0 {
        report.unstripped(elf.debug_bytes.div_ceil(1024));
    }
    Ok(report)
}
