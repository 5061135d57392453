//! Wrong command lines and wrong commands.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use anyhow::{Context, Result, ensure};

use super::{call, is_wrong, says};
use crate::common::{in_c, run, rust, tool, tool_with};

#[test]
fn without_a_command_those_that_there_are_are_listed() -> Result<()> {
    let sandbox = rust("worker_sandbox")?;
    let said = call(&sandbox)?;
    assert_eq!((said.code, &*said.out), (Some(2), ""));
    for line in [
        "error: say which command to send to `worker_sandbox`:",
        "  mem_map [context=<u64>] map_params=<MapParams>",
    ] {
        ensure!(
            said.err.lines().any(|said| said.starts_with(line)),
            "no {line:?} in\n{}",
            said.err
        );
    }
    let said = call(&format!("worker_sandbox --service 127.0.0.1:1 --protocol {sandbox}"))?;
    ensure!(
        said.code == Some(2) && said.err.contains("tag_send "),
        "it needs no service: {said:?}"
    );
    says(call(&in_c("worker_graph")?)?, &["--protocol FILE.so", "--raw"])
}

#[test]
fn mistakes_are_answered_before_anything_is_started() -> Result<()> {
    let graph = rust("worker_graph")?;
    let sandbox = rust("worker_sandbox")?;
    let absent = "/nowhere/worker_absent.so";
    for (words, parts) in [
        (
            format!("{graph} lopback data=1"),
            &["no command `lopback`", "did you mean `Loopback`?"][..],
        ),
        (format!("{graph} loopback dota=1"), &["no field `dota`", "did you mean `data`?"]),
        (format!("{graph} loopback"), &["needs `data`", "data=<u64>"]),
        (format!("{graph} loopback data=x"), &["data: `x` is no integer for a u64"]),
        (format!("{graph} loopback data=18446744073709551616"), &["does not fit a u64"]),
        (
            format!("{sandbox} tag_send dest=1 tag=2 data=@/nowhere"),
            &["data: the file `/nowhere` cannot be read"],
        ),
    ] {
        is_wrong(call(&words)?, parts).context(words)?;
    }
    // A plugin that is not there is no mistake in the command.
    says(call(&format!("{absent} loopback data=1"))?, &[absent, "cannot be read"])?;
    says(
        call("worker_graph loopback data=1")?,
        &["nowhere to look", "UROM_PLUGIN_PATH", "--service"],
    )?;
    let mut command = tool()?;
    command.args(["call", "worker_absent", "x"]).env("UROM_PLUGIN_PATH", "/nowhere;/tmp");
    says(
        run(&mut command)?,
        &["no plugin `worker_absent` in UROM_PLUGIN_PATH, which is /nowhere;/tmp"],
    )?;
    for wrong in [
        "",
        "x.so loopback data",
        "x.so loopback data=1 +",
        "x.so one:loopback data=1",
        "x.so loopback data=1 --workers 0",
        "x.so --raw hex:00 loopback",
        "x.so loopback data=1 --workers 257",
        "x.so loopback data=1 --timeout 0",
    ] {
        assert_eq!(call(wrong)?.code, Some(2), "{wrong}");
    }
    Ok(())
}

#[test]
fn odd_words_are_answered_with_a_sentence() -> Result<()> {
    let graph = rust("worker_graph")?;
    let text = OsStr::new;
    let of_plugin = |words: &[&str]| {
        [&["call", &graph], words].concat().into_iter().map(OsString::from).collect()
    };
    let cases: [(Vec<OsString>, i32, &str); 19] = [
        (vec![text("call").into(), OsStr::from_bytes(b"\xff").into()], 2, "invalid UTF-8"),
        (vec![text("call").into(), text("").into()], 2, "a value is required for '<FILE.so|NAME>'"),
        (vec![text("call").into(), text("/tmp/").into()], 1, "it is not a regular file"),
        (vec![text("call").into(), text("/dev/zero").into()], 1, "it is not a regular file"),
        (of_plugin(&[""]), 2, "there is no command ``"),
        (of_plugin(&["loopback", ""]), 2, "expected field=value"),
        (of_plugin(&["loopback", "=1"]), 2, "there is no field ``"),
        (of_plugin(&["loopback", "data[99999999999999999999]=1"]), 2, "is no index"),
        (of_plugin(&["loopback", "data=@/"]), 2, "cannot be read: Is a directory"),
        (of_plugin(&["loopback", "data=@/dev/zero"]), 2, "it has more than 16777215 bytes"),
        (of_plugin(&["--raw", "@/dev/zero"]), 2, "it has more than 16777215 bytes"),
        (of_plugin(&["18446744073709551615:loopback", "data=1"]), 2, "at most 256 can be"),
        (of_plugin(&["@"]), 2, "`@` names no file"),
        (of_plugin(&["@/dev/zero"]), 1, "cannot read line 1 of /dev/zero: it has more than"),
        (of_plugin(&["loopback", "data=1", "--workers", "1000000"]), 2, "not in 1..=256"),
        (of_plugin(&["loopback", "data=1", "--timeout", "-1"]), 2, "'-1' for '--timeout"),
        (of_plugin(&["loopback", "data=1", "--max-msg-size", "63"]), 2, "not in 64..=16777215"),
        (
            of_plugin(&["loopback", "data=1", "--service", "127.0.0.1:99999"]),
            2,
            "is no address of a service",
        ),
        (of_plugin(&["loopback", "data=1", "--protocol", "/tmp"]), 1, "it is not a regular file"),
    ];
    for (words, code, part) in cases {
        let said = run(&mut tool_with(&words)?)?;
        ensure!(said.code == Some(code) && said.err.contains(part), "{words:?}: {said:?}");
        ensure!(said.out.is_empty() && said.err.starts_with("error: "), "{words:?}: {said:?}");
    }
    Ok(())
}
