//! `cargo xtask bench`: builds the benchmark and what it measures in release mode, and runs it.

use std::process::{Command, ExitCode};

use anyhow::{Result, bail};

use crate::steps::Program;
use crate::workspace::{Purpose, Workspace};
use crate::{demo, setup, shell};

const PACKAGE: &str = "urom-bench";
/// The plugins it needs: those that are measured, and those that are measured against.
const PLUGINS: [Purpose; 2] = [Purpose::Use, Purpose::Benches];

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
    let programs = [Program { package: PACKAGE, name: program }];
    let directory = demo::build(workspace, &programs, &[], |plugin| PLUGINS.contains(&plugin.purpose))?;
    let plugins = PLUGINS.map(|purpose| directory.join(purpose.directory()).display().to_string()).join(";");
    let mut command = Command::new(directory.join(program));
    let status = shell::status(command.args(arguments).env("UROM_PLUGIN_PATH", plugins))?;
    Ok(shell::exit_code(status))
}
