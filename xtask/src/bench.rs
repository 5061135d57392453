//! `cargo xtask bench`: builds the benchmark and what it measures in release mode, and runs it.

use std::process::{Command, ExitCode};

use anyhow::{Result, bail};

use crate::workspace::{Profile, Workspace};
use crate::{demo, plugins, setup, shell};

const PACKAGE: &str = "urom-bench";

/// Sets up, builds and runs; the result is the benchmark's own.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<ExitCode> {
    let programs = workspace.programs(PACKAGE);
    let [program] = programs[..] else {
        bail!(
            "package {PACKAGE} must have exactly one program, it has {}: {}",
            programs.len(),
            programs.join(" ")
        );
    };
    setup::run(workspace, None)?;
    let program = workspace.profile_dir(None, Profile::Release).join(program);
    let directory = demo::build(workspace, PACKAGE, &program)?;
    let mut command = Command::new(&program);
    command.args(arguments).env("UROM_PLUGIN_PATH", directory.join(plugins::SHIPPED));
    let status = shell::status(&mut command)?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}
