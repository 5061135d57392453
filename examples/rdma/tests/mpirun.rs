//! The program under a real `mpirun`.

use std::process::Command;

use anyhow::Result;
use urom_tests::{MPI_DIRECTORY, PluginDirectory};

fn mpirun(plugins: &PluginDirectory, processes: &str) -> Command {
    let mut command = Command::new("mpirun");
    command.env_remove("DOCA_UROM_SERVICE_FILE").env("UROM_PLUGIN_PATH", plugins.variable());
    command.env(MPI_DIRECTORY, plugins.path());
    command.args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]);
    command.args(["-np", processes, env!("CARGO_BIN_EXE_rdma")]);
    command
}

#[test]
fn two_processes_run_every_operation() -> Result<()> {
    let output = mpirun(&PluginDirectory::with(&["worker_rdma"])?, "2").output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(text.lines().filter(|line| line.ends_with("ok")).count(), 7, "{text}");
    assert_eq!(text.matches("found 0x").count(), 2, "{text}");
    Ok(())
}

#[test]
fn another_number_of_processes_than_two_is_refused() -> Result<()> {
    let output = mpirun(&PluginDirectory::with(&["worker_rdma"])?, "3").output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(errors.contains("the launcher started 3: `mpirun -np 2 rdma`"), "{errors}");
    Ok(())
}
