//! Host program and plugin, connected by a `uromd` and a worker process.

use std::process::Command;
use std::time::Duration;

use graph_protocol::Protocol;
use urom_host::test_util::{Uromd, plugin};
use urom_host::{Service, block_on_for};

const LIMIT: Duration = Duration::from_secs(30);

#[test]
fn sent_data_comes_back() -> urom_host::Result<()> {
    let uromd = Uromd::start(plugin("graph-plugin")?)?;
    let service = Service::builder().address(uromd.address()).connect_blocking()?;
    let graph = service.plugin::<Protocol>()?;
    block_on_for(LIMIT, async {
        let worker = service.worker().plugin(&graph).start().await?;
        for data in [0, 1, u64::MAX] {
            assert_eq!(graph.task_loopback(&worker, data).submit()?.await?.data, data);
        }
        worker.stop().await
    })?
}

#[test]
fn the_program_prints_what_came_back() -> urom_host::Result<()> {
    let plugin = plugin("graph-plugin")?;
    let mut program = Command::new(env!("CARGO_BIN_EXE_graph-host"));
    let output = program.env("UROM_PLUGIN_PATH", plugin).output().expect("it starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        printed,
        format!("sent 42, got 42 back\nsent {0}, got {0} back\n", u64::MAX),
        "{output:?}"
    );
    assert!(output.status.success());
    Ok(())
}

#[test]
fn without_the_plugin_the_program_prints_advice() {
    let nothing = env!("CARGO_TARGET_TMPDIR");
    let mut program = Command::new(env!("CARGO_BIN_EXE_graph-host"));
    let output = program.env("UROM_PLUGIN_PATH", nothing).output().expect("it starts");
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("looking for plugin `worker_graph`") && said.contains("UROM_PLUGIN_PATH"),
        "{said}"
    );
}
