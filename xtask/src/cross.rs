//! `cargo xtask cross`: host programs of this machine with an emulated service of the other.

use anyhow::{Context, Result, ensure};

use crate::target::{self, BuildTarget};
use crate::workspace::Workspace;
use crate::{setup, shell, test};

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let (host, target) = (BuildTarget::host()?, BuildTarget::Aarch64);
    let triple = target.triple();
    ensure!(target != host, "this machine is one of {triple}: `cargo xtask test` tests it");
    let emulator =
        target.program("RUNNER", host).context("nothing is known that runs programs of it")?;
    test::prepare(workspace, None, &["urom-tests".to_owned()], false)?;
    setup::run(workspace, Some(target))?;
    let mut service = target::cargo(Some(target), "build")?;
    shell::run(service.args(shell::words("-p urom-service --bin uromd")))?;

    let mut test = target::cargo(None, "test")?;
    // With the features of `cargo xtask test`, so its builds are reused.
    test.args(shell::words("--workspace --features urom-tests/cross --test cross"));
    shell::run(test.env("UROM_EMULATED", format!("{triple} {emulator}")))
}
