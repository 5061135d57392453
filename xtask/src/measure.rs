//! `cargo xtask bench` and `cargo xtask faults`: build a program and all that it measures or breaks
//! as it is installed, and run it.

use anyhow::Result;

use crate::workspace::{Profile, Purpose, Workspace};
use crate::{install, plugins, setup, shell, target};

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
    /// Sets up, builds and runs the program.
    pub(crate) fn run(&self, workspace: &Workspace, arguments: &[String]) -> Result<()> {
        setup::for_tests(workspace, None, false)?;
        let all = workspace.plugins();
        let wanted = all.iter().filter(|plugin| self.plugins.contains(&plugin.purpose));
        let packages = install::PACKAGES.into_iter().chain(self.others.iter().copied());
        let packages = packages.chain(wanted.map(|plugin| plugin.package));
        let mut build = target::cargo(None, "build")?;
        build.args(Profile::Dist.arguments()).args(["-p", self.package]);
        shell::run(build.args(packages.flat_map(|package| ["-p", package])))?;
        let directory = workspace.profile_dir(None, Profile::Dist);
        plugins::link(&directory, &all, |plugin| self.plugins.contains(&plugin.purpose))?;
        // Programs and plugins in C are compiled against it.
        install::for_tests(workspace, None, Profile::Dist)?;
        let mut program = shell::built(&directory.join(self.package), &workspace.target_dir);
        shell::run(program.args(arguments))
    }
}
