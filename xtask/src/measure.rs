//! `cargo xtask bench` and `cargo xtask faults`: build a program as installed, and run it.

use anyhow::Result;

use crate::workspace::{BuildProfile, Purpose, Workspace};
use crate::{install, plugins, setup, shell};

pub(crate) struct Program {
    package: &'static str,
    /// Other programs that it runs.
    others: &'static [&'static str],
    plugins: &'static [Purpose],
}

pub(crate) const BENCH: Program = Program {
    package: "urom-bench",
    others: &["urom-faults", "allreduce"],
    plugins: &Purpose::ALL,
};

pub(crate) const FAULTS: Program =
    Program { package: "urom-faults", others: &[], plugins: &[Purpose::Use, Purpose::Tests] };

impl Program {
    pub(crate) fn run(&self, workspace: &Workspace, arguments: &[String]) -> Result<()> {
        setup::for_tests(workspace, None, false)?;
        let packages = [&[self.package], &install::PACKAGES[..], self.others].concat();
        let directory =
            plugins::build(workspace, None, BuildProfile::Dist, self.plugins, &packages, &[])?;
        // Programs and plugins in C are compiled against it.
        install::for_tests(workspace, None, BuildProfile::Dist)?;
        let mut program = shell::built(&directory.join(self.package), &workspace.target_dir);
        shell::run(program.args(arguments))
    }
}
