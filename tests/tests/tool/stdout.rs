//! Standard output of `uromd` is for programs: UCX's log and plugins' output go elsewhere.

use std::io::Read;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use urom_host::{Service, block_on};
use urom_tests::built;

#[test]
fn uromd_prints_its_address_first_and_nothing_else() -> Result<()> {
    let file = built("libworker_faulty.so")?;
    let mut uromd = Command::new(built("uromd")?);
    uromd
        .args(["--listen", "127.0.0.1:0"])
        .env("UROM_PLUGIN_PATH", &file)
        .env("UCX_LOG_LEVEL", "debug");
    let mut child = uromd.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut out = child.stdout.take().context("it has an output")?;
    let mut line = [0; 128];
    let length = out.read(&mut line)?;
    let line = String::from_utf8_lossy(&line[..length]).into_owned();
    let address =
        line.trim_end().strip_prefix("uromd: listening on ").with_context(|| line.clone())?;

    let service = Service::builder().address(address).connect_blocking()?;
    let faulty = service.plugin::<faulty_protocol::Protocol>()?;
    block_on(async {
        let worker = service.worker().plugin(&faulty).start().await?;
        faulty.task_print(&worker).submit()?.await?;
        worker.stop().await
    })?;
    drop(service);
    kill_process(Pid::from_child(&child), Signal::TERM)?;
    let mut rest = String::new();
    out.read_to_string(&mut rest)?;
    child.wait()?;
    assert_eq!(rest, "");
    Ok(())
}
