//! `cargo xtask bench`: builds the benchmark and what it measures in release mode, and runs it.

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::workspace::{Profile, Workspace};
use crate::{install, plugins, setup, shell};

const PACKAGE: &str = "urom-bench";
/// The programs that it runs: one counts instructions, one has peers die.
const OTHERS: [&str; 2] = ["bench-codec", "urom-faults"];

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
    let directory = workspace.profile_dir(None, Profile::Release);
    // Those that are measured, those that are measured against, and those of the programs.
    let plugins = workspace.plugins();
    let mut command = shell::cargo();
    command.args(["build", "--release", install::MESSAGES, "-p", PACKAGE]);
    let packages = install::PACKAGES.into_iter().chain(plugins.iter().map(|plugin| plugin.package));
    packages.chain(OTHERS).for_each(|package| {
        command.args(["-p", package]);
    });
    let (status, messages) = shell::output(&mut command)?;
    if !status.success() {
        return Ok(shell::exit_code(status));
    }
    plugins::link(&directory, &plugins, |_| true)?;
    // The measured programs in C are compiled against it.
    install::for_tests(workspace, &directory, &messages)?;
    let mut command = shell::built(&directory.join(program), &workspace.target_dir);
    // What cargo sets for the sake of short starts, and users do not: without it UCX allocates for each message over TCP.
    command.args(arguments).env_remove("UCX_MEM_EVENTS");
    let status = shell::status(&mut command)?;
    Ok(shell::exit_code(status))
}
