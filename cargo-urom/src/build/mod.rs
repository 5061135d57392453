//! `cargo urom build`: builds, names and checks the plugin's .so.

mod cargo;
mod choice;
pub(crate) mod cross;
mod package;
mod strip;

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cargo_config2::Config;
use fs_err as fs;
use urom_service::plugins;

use cargo::BuiltPlugin;

use crate::check::{self, Image};
use crate::elf::{ElfFile, ElfMachine};
use crate::{exit, output};

#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("help.txt"))]
pub(crate) struct BuildArgs {
    /// The plugin's package; needed if the workspace has several plugins.
    #[arg(short, long, value_name = "NAME")]
    package: Option<String>,
    /// The target, such as aarch64-unknown-linux-gnu for a BlueField; default: cargo's
    /// configuration (build.target, CARGO_BUILD_TARGET), else this machine.
    #[arg(long, value_name = "TRIPLE", value_parser = triple)]
    target: Option<String>,
    /// The operating system of the BlueField, as for `cargo urom check`.
    #[arg(long, value_name = "NAME", value_parser = Image::named)]
    image: Option<&'static Image>,
    /// Builds with the profile `dev`.
    #[arg(long, conflicts_with = "profile")]
    debug: bool,
    /// Builds with a profile of the workspace; default: `release`.
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Removes symbols and debug information; backtraces of panics then contain only addresses.
    #[arg(long)]
    strip: bool,
    /// The Cargo.toml of the workspace or of the plugin.
    #[arg(long, value_name = "PATH")]
    manifest_path: Option<PathBuf>,
    /// Prints the JSON of `cargo urom check --json` instead of the file's path.
    #[arg(long)]
    json: bool,
    /// More arguments for `cargo build`; they may contain the profile and the target.
    #[arg(last = true, value_name = "CARGO ARGUMENTS")]
    cargo: Vec<OsString>,
}

fn triple(text: &str) -> Result<String, String> {
    let machine = check::machine(text)?;
    Ok(if text.contains('-') { text.to_owned() } else { machine.triple().to_owned() })
}

pub(crate) fn run(args: &BuildArgs) -> Result<u8> {
    let package = package::find(args.package.as_deref(), args.manifest_path.as_deref())?;
    let target = choice::target(args, Config::load)?;
    let machine = target.as_deref().map_or_else(ElfMachine::ours, ElfMachine::of_target);
    let environment = match &target {
        Some(triple) if machine != ElfMachine::ours() => cross::prepare(triple)?,
        _ => Vec::new(),
    };
    let BuiltPlugin { file: made, has_lines } =
        cargo::build(&package, &choice::arguments(args), environment)?;
    let bytes = fs::read(&made)?;
    let name = name(&bytes).unwrap_or(package.library);
    let directory = made.parent().context("cargo's file lacks a directory")?.join(plugins::COPIES);
    let file = directory.join(format!("{name}.so"));
    let doing = if args.strip { "Stripping" } else { "Copying" };
    output::progress(doing, &format!("{} to {}", made.display(), file.display()));
    let bytes = match args.strip.then(|| strip::strip(&bytes)) {
        None => bytes,
        Some(Ok(stripped)) => stripped,
        Some(Err(error)) => {
            output::warning(&format!(
                "it stays as cargo made it, because it cannot be stripped: {error:#}"
            ));
            bytes
        }
    };
    if !args.strip && !has_lines {
        output::note(
            "the profile leaves out line tables, so a backtrace will not say where a handler \
             panicked: `debug = \"line-tables-only\"` in the profile (Cargo.toml) puts them in",
        );
    }
    // With this list of sources, a service detects an outdated copy.
    let list = file.with_extension("d");
    match plugins::list_of_copy(&made, &file) {
        Some(sources) => put(&list, &sources, &made)?,
        // A list of an earlier build.
        None if list.exists() => fs::remove_file(&list)?,
        None => {}
    }
    put(&file, &bytes, &made)?;

    output::progress("Checking", &file.display().to_string());
    let report = check::examine(&file, machine, args.image, check::LIMIT)?;
    if args.json {
        output::json(&report)?;
    } else {
        report.print_findings();
        if !report.is_bad() {
            output::result(&format!("{}\n", file.display()))?;
        }
    }
    Ok(if report.is_bad() { exit::FAILED } else { exit::DONE })
}

fn name(bytes: &[u8]) -> Option<String> {
    let name = ElfFile::read(bytes).ok()?.description?.ok()?.protocol.name;
    // A path in the name would lead to another directory.
    (Path::new(name).file_name() == Some(OsStr::new(name))).then(|| name.to_owned())
}

/// Replaces a file atomically, with the mode and time of `like`. Services keep the old file.
fn put(file: &Path, bytes: &[u8], like: &Path) -> Result<()> {
    let directory = file.parent().context("the file lacks a directory")?;
    fs::create_dir_all(directory)?;
    let written = || -> Result<()> {
        let mut new = tempfile::NamedTempFile::new_in(directory)?;
        new.write_all(bytes)?;
        let like = fs::metadata(like)?;
        new.as_file().set_permissions(like.permissions())?;
        new.as_file().set_modified(like.modified()?)?;
        new.persist(file)?;
        Ok(())
    };
    written().with_context(|| format!("cannot write {}", file.display()))
}
