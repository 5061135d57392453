//! `cargo xtask cross`: host programs of this machine against a service of the other, which an
//! emulator runs.

use anyhow::{Context, Result, ensure};

use crate::target::{self, Target};
use crate::workspace::Workspace;
use crate::{setup, shell, test};

/// Sets up for both machines, builds for both, and runs the tests.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let (host, target) = (Target::host()?, Target::Aarch64);
    let triple = target.triple();
    ensure!(target != host, "this machine is one of {triple}: `cargo xtask test` tests it");
    let emulator = target.emulator(host).context("nothing is known that runs programs of it")?;
    // The tests build plugins with `cargo urom`.
    test::prepare(workspace, None, &["urom-tests".to_owned()], false)?;
    setup::run(workspace, Some(target))?;
    let mut service = target::cargo(Some(target), "build")?;
    shell::run(service.args(shell::words("-p urom-service --bin uromd")))?;

    let mut test = target::cargo(None, "test")?;
    // The whole workspace's features, as in `cargo xtask test`: what that built serves here, too.
    test.args(shell::words("--workspace --features urom-tests/cross --test cross"));
    shell::run(test.env("UROM_EMULATED", format!("{triple} {emulator}")))
}
