//! Standard output is for programs: what UCX logs and what a plugin prints is elsewhere.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use urom_host::{Service, block_on};
use urom_tests::built;

use crate::common::{run, rust, tool_with};

/// Settings that UCX warns of, or that have it log.
const TALKATIVE: [(&str, &str); 3] =
    [("UCX_NET_DEVICES", "nowhere0:1"), ("UCX_TLS", "rc,tcp,self,sm"), ("UCX_LOG_LEVEL", "debug")];

#[test]
fn what_ucx_logs_is_not_among_what_the_tool_prints() -> Result<()> {
    let file = rust("worker_graph")?;
    for verb in
        [&["call", &file, "loopback", "data=1", "--json"][..], &["inspect", &file, "--json"]]
    {
        for (name, value) in TALKATIVE {
            let said = run(tool_with(verb)?.env(name, value))?;
            serde_json::from_str::<serde_json::Value>(&said.out)
                .with_context(|| format!("{name}={value} {verb:?}: {}", said.out))?;
        }
    }
    // It does log.
    let said = run(tool_with(["inspect", &file])?.env("UCX_LOG_LEVEL", "debug"))?;
    ensure!(said.err.contains("UCX  DEBUG"), "{said:?}");
    Ok(())
}

#[test]
fn an_output_that_takes_nothing_is_told_and_changes_no_code() -> Result<()> {
    let file = rust("worker_graph")?;
    let full = || fs::File::options().write(true).open("/dev/full");
    let words = |value: &str| tool_with(["call", &file, "loopback", &format!("data={value}")]);
    let said = words("1")?.stdout(full()?).output()?;
    let error = String::from_utf8(said.stderr)?;
    ensure!(
        said.status.code() == Some(1)
            && error.contains("cannot write to standard output: No space"),
        "{error}"
    );
    // A reader that has gone, as `head` does, wants no more.
    let (reader, writer) = std::io::pipe()?;
    drop(reader);
    let said = words("1")?.stdout(writer).output()?;
    let error = String::from_utf8(said.stderr)?;
    ensure!(said.status.code() == Some(1) && !error.contains("error"), "{error}");
    // Nobody can be told of these two.
    let (reader, writer) = std::io::pipe()?;
    drop(reader);
    for (value, code) in [("1", 0), ("x", 2)] {
        for err in [Stdio::from(full()?), Stdio::from(writer.try_clone()?)] {
            let said = words(value)?.stderr(err).output()?;
            ensure!(said.status.code() == Some(code), "data={value}: {said:?}");
        }
    }
    Ok(())
}

#[test]
fn what_a_handler_prints_is_not_among_what_the_tool_prints() -> Result<()> {
    let file = rust("worker_faulty")?;
    let said = run(&mut tool_with(["call", &file, "print", "--json"])?)?;
    ensure!(said.err.contains("printed by a handler"), "{said:?}");
    let answer = said.json()?;
    assert_eq!(answer["status"]["name"], "DOCA_SUCCESS");
    Ok(())
}

#[test]
fn uromd_prints_its_address_first_and_nothing_else() -> Result<()> {
    let file = rust("worker_faulty")?;
    let mut uromd = Command::new(built("uromd")?);
    uromd
        .args(["--listen", "127.0.0.1:0"])
        .env("UROM_PLUGIN_PATH", &file)
        .env("UCX_LOG_LEVEL", "debug");
    let mut child = uromd.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut out = child.stdout.take().context("it has an output")?;
    let mut line = [0; 128];
    // One write, so one read.
    let length = out.read(&mut line)?;
    let line = String::from_utf8_lossy(&line[..length]).into_owned();
    let address =
        line.trim_end().strip_prefix("uromd: listening on ").with_context(|| line.clone())?;

    let service = Service::builder().address(address).connect()?;
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
