//! `cargo xtask faults`: builds the fault suites and what they break in release mode, and runs them.

use std::process::ExitCode;

use anyhow::Result;

use crate::workspace::{Profile, Purpose, Workspace};
use crate::{install, plugins, setup, shell};

/// The suites: a package and its program.
const FAULTS: &str = "urom-faults";
/// The plugins they use.
const PLUGINS: [Purpose; 2] = [Purpose::Use, Purpose::Tests];

/// Sets up, builds and runs; the result is the suites' own.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<ExitCode> {
    setup::run(workspace, None)?;
    let directory = workspace.profile_dir(None, Profile::Release);
    let all = workspace.plugins();
    let wanted =
        all.iter().filter(|plugin| PLUGINS.contains(&plugin.purpose)).map(|plugin| plugin.package);
    let mut command = shell::cargo();
    command.args(["build", "--release", install::MESSAGES, "-p", FAULTS]);
    install::PACKAGES.into_iter().chain(wanted).for_each(|package| {
        command.args(["-p", package]);
    });
    let (status, messages) = shell::output(&mut command)?;
    if !status.success() {
        return Ok(shell::exit_code(status));
    }
    plugins::link(&directory, &all, |plugin| PLUGINS.contains(&plugin.purpose))?;
    // Plugins in C are compiled against it.
    install::for_tests(workspace, &directory, &messages)?;
    let mut command = shell::built(&directory.join(FAULTS), &workspace.target_dir);
    Ok(shell::exit_code(shell::status(command.args(arguments))?))
}
