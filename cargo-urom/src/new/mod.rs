//! `cargo urom new`: renders the template without cargo-generate.

mod answers;
mod kit;
mod liquid;
mod nested;
mod template;
mod vendor;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};

use crate::exit::usage;
use crate::{exit, output};
use answers::{Answers, PluginKind};
use kit::Kit;

#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("help.txt"))]
pub(crate) struct NewArgs {
    /// The new directory, whose name is the prefix of NAME-protocol, NAME-plugin and NAME-host.
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// The plugin's name, at most 47 bytes [default: worker_NAME, with one worker_].
    #[arg(long, value_name = "NAME", value_parser = answers::plugin_name)]
    plugin: Option<String>,
    /// The kind of plugin.
    #[arg(long, value_enum, default_value_t = PluginKind::Answers)]
    kind: PluginKind,
    /// Adds a C header of the messages, for hosts in C.
    #[arg(long)]
    c_header: bool,
    /// The licence of the new packages, as an SPDX expression such as MIT [default: none].
    #[arg(long, value_name = "SPDX", value_parser = answers::license)]
    license: Option<String>,
    /// The source of the kit's crates: `path` (the clone that this tool was built from),
    /// `path=DIRECTORY` (stored relative to the workspace), `vendor` (a copy in the workspace),
    /// `git=ADDRESS`, `git=ADDRESS#COMMIT` or `registry` [default: this tool's own source].
    #[arg(long, value_name = "SOURCE")]
    kit: Option<Kit>,
}

pub(crate) fn run(args: &NewArgs) -> Result<u8> {
    let name = args.path.file_name().ok_or_else(|| {
        let path = args.path.display();
        usage(format!("`{path}` lacks a name for the project: give the directory to make"))
    })?;
    let project = answers::project_name(&name.to_string_lossy()).map_err(usage)?;
    let plugin = match &args.plugin {
        Some(plugin) => plugin.clone(),
        None => answers::usual_plugin_name(&project).map_err(|reason| {
            usage(format!(
                "the project's name makes no name for the plugin: {reason}; say --plugin NAME"
            ))
        })?,
    };
    let kit = match &args.kit {
        Some(kit) => kit.clone(),
        None => Kit::of_this_tool()?,
    };
    let license = args.license.clone().unwrap_or_default();
    let (kind, c_header) = (args.kind, args.c_header);
    let mut answers = Answers { project, plugin, kind, c_header, license, kit };
    make(&args.path, &mut answers)?;
    nested::warn(&args.path);
    output::progress("Created", &format!("{} in {}", answers.plugin, args.path.display()));
    print_next(&args.path, &answers)?;
    Ok(exit::DONE)
}

/// Makes the directory with its files, or nothing. Does not change an existing directory.
fn make(directory: &Path, answers: &mut Answers) -> Result<()> {
    std::fs::create_dir(directory).map_err(|error| {
        let parent = directory.parent().filter(|parent| !parent.as_os_str().is_empty());
        let hint = match (error.kind(), parent) {
            (ErrorKind::AlreadyExists, _) => ": choose another name, or remove it first".to_owned(),
            (ErrorKind::NotFound, Some(parent)) => format!(": make {} first", parent.display()),
            _ => String::new(),
        };
        let text = format!("cannot make the directory {}{hint}", directory.display());
        anyhow!(error).context(text)
    })?;
    let made = answers.kit.clone().put_into(directory).and_then(|kit| {
        answers.kit = kit;
        write(directory, &template::render(answers)?)
    });
    if made.is_err() {
        // The first error matters more than an error of the removal.
        let _ = std::fs::remove_dir_all(directory);
    }
    made
}

fn write(directory: &Path, files: &[(String, String)]) -> Result<()> {
    for (path, text) in files {
        let path = directory.join(path);
        fs_err::create_dir_all(path.parent().unwrap_or(directory))?;
        fs_err::write(&path, text)?;
    }
    Ok(())
}

/// Prints the next steps to standard output, and missing requirements to standard error.
fn print_next(directory: &Path, answers: &Answers) -> Result<()> {
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let target_directory =
        std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| directory.join("target").into());
    let target_directory =
        std::path::absolute(&target_directory).unwrap_or_else(|_| target_directory.into());
    let search = ucx_probe::Search::new(&target).target_directory(target_directory);
    if let Err(missing) = search.find() {
        output::say(&format!("missing on this machine: {missing}"));
    }
    let (directory, plugin) = (directory.display(), &answers.plugin);
    let licence = match &*answers.license {
        "" => "none; --license SPDX states one",
        license => license,
    };
    let kit = answers.kit.described();
    output::result(&format!(
        "kit: {kit}
licence: {licence}
next:
    cd {directory}
    cargo run           # builds plugin and host, and prints what the plugin answers
    cargo test          # in process, and through a service
    cargo urom build    # {plugin}.so, as a service wants it
"
    ))
}
