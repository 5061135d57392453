//! The program under a real `mpirun`.

use anyhow::Result;
use urom_tests::{PluginDirectory, mpirun};

#[test]
fn two_processes_run_every_operation() -> Result<()> {
    let plugins = PluginDirectory::with(&["worker_rdma"])?;
    let mut command = mpirun(2, plugins.path());
    command.env("UROM_PLUGIN_PATH", plugins.variable()).arg(env!("CARGO_BIN_EXE_rdma"));
    let text = urom_tests::run(&mut command)?;
    assert_eq!(text.lines().filter(|line| line.ends_with("ok")).count(), 7, "{text}");
    assert_eq!(text.matches("found 0x").count(), 2, "{text}");
    Ok(())
}
