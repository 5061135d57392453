//! `cargo xtask cross`: host programs of this machine against a service of the other, which an
//! emulator runs.

use anyhow::{Context, Result, ensure};

use crate::target::{self, Target};
use crate::workspace::{Profile, Workspace};
use crate::{install, setup, shell};

/// Sets up for both machines, builds for both, and runs the tests.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let (host, target) = (Target::host()?, Target::Aarch64);
    let triple = target.triple();
    ensure!(target != host, "this machine is one of {triple}: `cargo xtask test` tests it");
    let emulator = target.emulator(host).context("nothing is known that runs programs of it")?;
    setup::for_tests(workspace, None, false)?;
    setup::run(workspace, Some(target))?;

    // The tests build plugins with `cargo urom`.
    let packages = install::PACKAGES.into_iter().chain(["cargo-urom", "urom-tests"]);
    let mut build = target::cargo(None, "build")?;
    build.args(["--lib", "--bins", "--examples"]);
    shell::run(build.args(packages.flat_map(|package| ["-p", package])))?;
    install::for_tests(workspace, None, Profile::Dev)?;
    let mut service = target::cargo(Some(target), "build")?;
    shell::run(service.args(shell::words("-p urom-service --bin uromd")))?;

    let mut test = target::cargo(None, "test")?;
    test.args(shell::words("-p urom-tests --features urom-tests/cross --test cross"));
    shell::run(test.env("UROM_EMULATED", format!("{triple} {emulator}")))
}
