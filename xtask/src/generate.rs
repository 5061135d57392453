//! `cargo xtask api`, `bindings` and `headers`: runs the package `xtask-generate`.

use anyhow::Result;

use crate::target::BuildTarget;
use crate::workspace::Workspace;
use crate::{debian, shell, ucx};

pub(crate) fn bindings(workspace: &Workspace, check: bool) -> Result<()> {
    debian::ensure(&[&debian::LIBCLANG, &debian::AARCH64_LIBC, &debian::PIP])?;
    // The headers are the same for every target.
    let package = ucx::unpack(&workspace.target_dir, ucx::OLDEST, BuildTarget::X86_64)?;
    let include = package.join("libucx/include").display().to_string();
    run(&["bindings", &include], check)
}

pub(crate) fn run(words: &[&str], check: bool) -> Result<()> {
    let mut command = shell::cargo();
    command.args(["run", "--quiet", "-p", "xtask-generate", "--"]).args(words);
    shell::run(command.args(check.then_some("--check")))
}
