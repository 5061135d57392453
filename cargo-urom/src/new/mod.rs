//! `cargo urom new`: the template, without cargo-generate.

mod answers;
mod kit;
mod next;
mod template;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::exit::usage;
use crate::{exit, output};
use answers::Answers;
use kit::Kit;

/// The verb's arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cargo urom new calc
  cargo urom new calc --ucx --c-header --plugin worker_calc2
  cargo urom new calc --kit path=../kit

What it makes is what `cargo generate` makes of templates/plugin.

Exit codes: 0 when the workspace is there, 1 when it could not be made, 2 for a wrong command line.")]
pub(crate) struct Args {
    /// The directory to make. Its name is the project's: the packages are NAME-protocol, NAME-plugin and NAME-host.
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// What services and hosts know the plugin by, at most 47 bytes [default: worker_NAME, with one worker_].
    #[arg(long, value_name = "NAME", value_parser = answers::plugin_name)]
    plugin: Option<String>,
    /// The plugin talks UCX itself, to plugins of other workers.
    #[arg(long)]
    ucx: bool,
    /// There is a C header of the messages, for hosts in C.
    #[arg(long)]
    c_header: bool,
    /// Where the kit's crates come from: `registry`, `path=DIRECTORY` (absolute, or as seen from the new workspace) or
    /// `git=ADDRESS` [default: the clone this tool was built from, or else the registry].
    #[arg(long, value_name = "PLACE")]
    kit: Option<Kit>,
}

pub(crate) fn run(args: &Args) -> Result<u8> {
    let name = args.path.file_name().ok_or_else(|| {
        let path = args.path.display();
        usage(format!("`{path}` has no name to call the project by: give the directory to make"))
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
    let answers = Answers { project, plugin, ucx: args.ucx, c_header: args.c_header, kit };
    let files = template::render(&answers)?;
    make(&args.path, &answers.kit, &files)?;
    output::progress("Created", &format!("{} in {}", answers.plugin, args.path.display()));
    next::print(&args.path, &answers)?;
    Ok(exit::DONE)
}

/// Makes the directory with its files, or nothing at all. One that exists is somebody's.
fn make(directory: &Path, kit: &Kit, files: &[template::File]) -> Result<()> {
    std::fs::create_dir(directory).with_context(|| {
        let parent = directory.parent().filter(|parent| !parent.as_os_str().is_empty());
        let hint = match parent.filter(|parent| !parent.exists()) {
            _ if directory.exists() => ": choose another name, or remove it first".to_owned(),
            Some(parent) => format!(": make {} first", parent.display()),
            None => String::new(),
        };
        format!("cannot make the directory {}{hint}", directory.display())
    })?;
    let made = kit.check_from(directory).and_then(|()| write(directory, files));
    if made.is_err() {
        // It was empty a moment ago. What failed is worth more than what fails here.
        let _ = std::fs::remove_dir_all(directory);
    }
    made
}

fn write(directory: &Path, files: &[template::File]) -> Result<()> {
    for file in files {
        let path = directory.join(&file.path);
        let parent = path.parent().unwrap_or(directory);
        std::fs::create_dir_all(parent)
            .and_then(|()| std::fs::write(&path, &file.text))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
