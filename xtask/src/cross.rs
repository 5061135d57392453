//! `cargo xtask cross`: host programs of this machine against a service of the other, which an
//! emulator runs.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::demo::SERVICE;
use crate::install;
use crate::setup;
use crate::shell;
use crate::target::Target;
use crate::workspace::{Profile, Workspace};

/// The package with the tests, and its feature that says so.
const TESTS: &str = "urom-tests";
const FEATURE: &str = "urom-tests/cross";

/// What the tests start on this machine besides: `cargo urom`, which builds the plugins.
const TOOL: &str = "cargo-urom";

/// Sets up for both machines, builds for both, and runs the tests. The result is cargo's own.
pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode> {
    let (host, target) = (Target::host()?, Target::Aarch64);
    if target == host {
        bail!("this machine is one of {}: `cargo xtask test` tests it", target.triple());
    }
    let emulator = target.emulator(host).context("nothing is known that runs programs of it")?;
    setup::run(workspace, None)?;
    setup::run(workspace, Some(target))?;

    let mut build = shell::cargo();
    build.args(["build", install::MESSAGES, "--lib", "--bins", "--examples"]);
    for package in install::PACKAGES.into_iter().chain([TOOL, TESTS]) {
        build.args(["-p", package]);
    }
    let (status, messages) = shell::output(&mut build)?;
    if !status.success() {
        return Ok(shell::exit_code(status));
    }
    install::for_tests(workspace, &workspace.profile_dir(None, Profile::Dev), &messages)?;

    let mut service = shell::cargo();
    service.args([
        "build",
        "-p",
        SERVICE.package,
        "--bin",
        SERVICE.name,
        "--target",
        target.triple(),
    ]);
    service.envs(target.environment(host).iter().copied());
    shell::run(&mut service)?;

    let mut test = shell::cargo();
    test.args(["test", "-p", TESTS, "--features", FEATURE, "--test", "cross"]);
    test.env("UROM_EMULATED", format!("{} {emulator}", target.triple()));
    Ok(shell::exit_code(shell::status(&mut test)?))
}
