//! `cargo xtask bench` and `cargo xtask faults`: build a program and all that it measures or breaks
//! in release mode, and run it.

use std::process::ExitCode;

use anyhow::Result;

use crate::workspace::{Profile, Purpose, Workspace};
use crate::{install, plugins, setup, shell};

/// What to build and run.
pub(crate) struct Measured {
    package: &'static str,
    /// Programs that it runs.
    others: &'static [&'static str],
    plugins: &'static [Purpose],
}

pub(crate) const BENCH: Measured =
    Measured { package: "urom-bench", others: &["urom-faults"], plugins: &Purpose::ALL };

pub(crate) const FAULTS: Measured =
    Measured { package: "urom-faults", others: &[], plugins: &[Purpose::Use, Purpose::Tests] };

impl Measured {
    /// Sets up, builds and runs; the result is the program's own.
    pub(crate) fn run(&self, workspace: &Workspace, arguments: &[String]) -> Result<ExitCode> {
        setup::run(workspace, None)?;
        let directory = workspace.profile_dir(None, Profile::Release);
        let all = workspace.plugins();
        let wanted = all.iter().filter(|plugin| self.plugins.contains(&plugin.purpose));
        let mut command = shell::cargo();
        command.args(["build", "--release", install::MESSAGES, "-p", self.package]);
        let packages = install::PACKAGES.into_iter().chain(self.others.iter().copied());
        for package in packages.chain(wanted.map(|plugin| plugin.package)) {
            command.args(["-p", package]);
        }
        let (status, messages) = shell::output(&mut command)?;
        if !status.success() {
            return Ok(shell::exit_code(status));
        }
        plugins::link(&directory, &all, |plugin| self.plugins.contains(&plugin.purpose))?;
        // Programs and plugins in C are compiled against it.
        install::for_tests(workspace, &directory, &messages)?;
        let mut command = shell::built(&directory.join(self.package), &workspace.target_dir);
        Ok(shell::exit_code(shell::status(command.args(arguments))?))
    }
}
