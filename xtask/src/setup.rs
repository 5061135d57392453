//! Set-up: installs everything the build needs beyond Rust and a linker.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail, ensure};

use crate::debian::{self, Need};
use crate::shell;
use crate::target::BuildTarget;
use crate::ucx;
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace, target: Option<BuildTarget>) -> Result<()> {
    ready(workspace, target, &[])
}

/// Prepares to build and run the tests; with `mpi`, also the tests of MPI's bindings.
pub(crate) fn for_tests(
    workspace: &Workspace,
    target: Option<BuildTarget>,
    mpi: bool,
) -> Result<()> {
    let mut needs = vec![&debian::CXX_COMPILER, &debian::VALGRIND];
    if target.is_none() || target == Some(BuildTarget::host()?) {
        needs.extend([&debian::MPI_LAUNCHER, &debian::IPROUTE, &debian::NFTABLES]);
        needs.extend([&debian::MESON, &debian::SYSTEMD, &debian::PMIX_HEADERS]);
    }
    if mpi {
        needs.extend([&debian::MPI_COMPILER, &debian::LIBCLANG]);
    }
    ready(workspace, target, &needs)
}

fn ready(workspace: &Workspace, target: Option<BuildTarget>, more: &[&'static Need]) -> Result<()> {
    let host = BuildTarget::host()?;
    let target = target.unwrap_or(host);
    if target != host && target.environment(host).is_empty() {
        bail!(
            "{} cannot be built on {}: only the other way round is set up",
            target.triple(),
            host.triple()
        );
    }
    // Called again after pkg-config is installed. The variables of ucx-probe select the user's UCX.
    let named = |variable: &str| std::env::var_os(variable).is_some_and(|value| !value.is_empty());
    let has_ucx = || {
        named(&ucx_probe::of_target(ucx_probe::VARIABLE, target.triple()))
            || (target == host && named(ucx_probe::VARIABLE))
            || ucx::directory(&workspace.target_dir, ucx::VERSION, target).is_dir()
            || (target == host && ucx::system_is_new_enough())
    };
    let mut needs = vec![&debian::C_COMPILER, &debian::PKG_CONFIG];
    if target != host {
        needs.extend([&debian::AARCH64_COMPILER, &debian::AARCH64_LIBC, &debian::AARCH64_EMULATOR]);
    }
    if !has_ucx() {
        needs.push(&debian::PIP);
    }
    needs.extend(more);
    debian::ensure(&needs)?;
    if !has_ucx() {
        ucx::unpack(&workspace.target_dir, ucx::VERSION, target)?;
    }
    if target != host { add_rust_target(target) } else { Ok(()) }
}

fn add_rust_target(target: BuildTarget) -> Result<()> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut rustc = Command::new(rustc);
    rustc.args(["--print", "target-libdir", "--target", target.triple()]);
    if Path::new(shell::read(&mut rustc)?.trim()).is_dir() {
        return Ok(());
    }
    ensure!(
        shell::on_path("rustup").is_some(),
        "this Rust cannot build for {}, and there is no rustup to add the target: install Rust's \
         standard library for it, or use rustup's stable Rust",
        target.triple()
    );
    shell::step(
        &format!("set-up: adding Rust's standard library for {}", target.triple()),
        Command::new("rustup").args(["target", "add", target.triple()]),
    )
}
