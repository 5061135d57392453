//! What is printed of answers.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{Remote, call, says};
use crate::common::{daemon, run, rust, tool};

#[test]
fn nothing_is_left_behind() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let graph = rust("worker_graph")?;
    for words in
        [&["call", &graph, "loopback", "data=1"][..], &["check", &graph], &["inspect", &graph]]
    {
        run(tool()?.args(words).env("TMPDIR", directory.path()))?.good()?;
        ensure!(fs::read_dir(directory.path())?.next().is_none(), "{words:?}");
    }
    Ok(())
}

#[test]
fn answers_are_json_for_scripts() -> Result<()> {
    let said =
        call(&format!("{} loopback data=18446744073709551615 --json", rust("worker_graph")?))?
            .json()?;
    assert_eq!(
        said["status"],
        json!({ "code": 0, "name": "DOCA_SUCCESS", "description": "success" })
    );
    assert_eq!(
        said["notification"],
        json!({ "name": "LoopbackDone", "fields": { "data": u64::MAX } })
    );
    assert_eq!(said["bytes"]["hex"], "0000000000000000ffffffffffffffff");
    ensure!(said["nanoseconds"].as_u64() > Some(0), "{said}");
    Ok(())
}

#[test]
fn a_status_other_than_success_is_named_and_fails_the_call() -> Result<()> {
    let faulty = Remote::new("worker_faulty")?;
    for (words, code, text) in [
        ("fail code=16", "DOCA_ERROR_NOT_FOUND", "resource not found"),
        ("fail code=6", "DOCA_ERROR_INVALID_VALUE", "invalid input"),
        ("panic", "DOCA_ERROR_UNEXPECTED", "unexpected scenario detected"),
    ] {
        let said = faulty.call(words)?;
        assert_eq!(said.out, "", "there is nothing to read in a failed command's notification");
        says(said, &["`worker_faulty`", code, text, "worker's log"])?;
    }
    let said = faulty.call("fail code=16 --json")?;
    let json: Value = serde_json::from_str(&said.out)?;
    assert_eq!((said.code, &json["status"]["code"]), (Some(1), &json!(16)));
    says(faulty.call("crash")?, &["Crash of `worker_faulty` ended with", "worker"])?;
    Ok(())
}

#[test]
fn what_does_not_fit_into_a_message_is_told_with_the_size_that_does() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("data");
    fs::write(&file, [7; 5000])?;
    let sandbox = rust("worker_sandbox")?;
    let send = format!("{sandbox} tag_send dest=0 tag=1 data=@{}", file.display());
    let line = "TagSend of `worker_sandbox`: the command has 5072 bytes, and 4072 fit";
    let parts = [line, "DOCA_ERROR_TOO_BIG", "--max-msg-size 5096"];
    let said = call(&send)?;
    ensure!(!said.err.contains("ServiceBuilder") && !said.err.contains("raw command"), "{said:?}");
    says(said, &parts)?;
    // There is no worker 0 without a domain, which the plugin says.
    says(call(&format!("{send} --max-msg-size 5096"))?, &["the plugin answered with this status"])?;
    let raw = format!("{sandbox} --raw @{}", file.display());
    says(
        call(&raw)?,
        &["a command of 5000 bytes of `worker_sandbox`: the command has 5000 bytes"],
    )?;
    // A service that allows less has the last word.
    let (daemon, _plugins) = daemon(&["worker_sandbox"])?;
    let at = format!("{send} --max-msg-size 5096 --service {}", daemon.address());
    says(call(&at)?, &["and to a `uromd` that it calls"])?;

    // An answer may be longer than its command.
    let long = format!("{} ask_for_long --max-msg-size 64", rust("worker_faulty")?);
    says(
        call(&long)?,
        &["AskForLong of `worker_faulty` ended with DOCA_ERROR_TOO_BIG", "--max-msg-size"],
    )
}

#[test]
fn what_never_answers_is_waited_for_as_long_as_one_says() -> Result<()> {
    let faulty = Remote::new("worker_faulty")?;
    let start = Instant::now();
    let said = faulty.call("hang --timeout 1")?;
    ensure!(start.elapsed() >= Duration::from_secs(1));
    says(said, &["was not answered within 1 s", "--timeout"])
}
