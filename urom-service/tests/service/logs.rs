//! The log of daemon, workers and plugins: its formats, its file, and lines of failed commands.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Instant;

use serde_json::Value;
use urom_abi::DocaStatus;
use urom_wire::control::StartWorker;

use crate::support::TIMEOUT;
use crate::support::client::{Client, any, attached, op, served_with};
use crate::support::plugins::Plugins;
use crate::support::uromd::{Uromd, command};

/// A plugin whose constructor prints.
const TALKS: &str = r#"#include "obedient.c"
__attribute__((constructor)) static void talk(void)
{
	puts("on standard output");
	fflush(stdout);
	fputs("on standard error\n", stderr);
}
"#;

/// Waits until `found` finds something in the file, with `step` in between.
fn wait_for<T>(path: &Path, mut step: impl FnMut(), found: impl Fn(&str) -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        let text = fs::read_to_string(path).unwrap_or_default();
        if let Some(found) = found(&text) {
            return found;
        }
        assert!(start.elapsed() < TIMEOUT, "{}: {text}", path.display());
        step();
        std::thread::yield_now();
    }
}

fn object_with(text: &str, part: &str) -> Option<Value> {
    let line = text.lines().find(|line| line.contains(part))?;
    serde_json::from_str(line).ok()
}

/// Runs a daemon that cannot start, because its address needs a key.
fn refused(args: &[&str], journal: &str) -> Output {
    let mut command = command();
    command.args(["--listen", "192.0.2.1"]).args(args);
    command.env("JOURNAL_STREAM", journal).env_remove("UROM_KEY_FILE").output().unwrap()
}

fn is_dated(line: &str) -> bool {
    let time = line.strip_prefix('[').and_then(|line| line.split_once(']'));
    time.is_some_and(|(time, _)| time.ends_with('Z') && humantime::parse_rfc3339(time).is_ok())
}

#[test]
fn each_line_of_daemon_and_worker_has_date_time_and_zone() {
    let (uromd, _client, host) = attached(1);
    host.call(op::STATUS, 5);
    for part in ["][uromd][INF]", "][worker auto-1][DBG]", "a command of host"] {
        let line = uromd.logged(&[part]);
        assert!(is_dated(&line), "{line}");
    }
}

#[test]
fn a_log_file_has_all_lines_of_daemon_worker_and_plugin_as_objects() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let plugins = Plugins::new();
    plugins.add_source("talking", TALKS);
    let args = ["--log-file", log.to_str().unwrap(), "--log-format", "json"];
    let directories = [plugins.path().to_str().unwrap()];
    let uromd = Uromd::start_with(&directories, &args);
    let mut client = Client::connect(uromd.address);
    let host = client.attach(any(), 2);
    let pid = host.pid();
    // The second and the third command of slot 1.
    for status in [0, 5] {
        host.ask(1, op::STATUS, status);
        assert_eq!(host.note().status, DocaStatus(u32::try_from(status).unwrap()));
    }
    let failure = wait_for(&log, || {}, |text| object_with(text, "a command of host"));
    for (key, value) in [
        ("pid", Value::from(pid)),
        ("level", "debug".into()),
        ("name", "worker auto-1".into()),
        ("plugin", "talking".into()),
        ("command", op::STATUS.into()),
        ("slot", 1.into()),
        ("number", 2.into()),
    ] {
        assert_eq!(failure[key], value, "{key} of {failure}");
    }
    assert!(failure["host"].as_str().unwrap().contains("the client"), "{failure}");
    host.send_bytes(host.frame(1, 9, &op::ECHO.to_le_bytes()));
    host.note();
    let refusal = wait_for(&log, || {}, |text| object_with(text, "refused a command"));
    let number = (refusal["slot"].clone(), refusal["number"].clone(), refusal["command"].clone());
    assert_eq!(number, (1.into(), 3.into(), 0.into()), "{refusal}");

    let text = fs::read_to_string(&log).unwrap();
    assert_eq!(fs::metadata(&log).unwrap().permissions().mode() & 0o137, 0);
    let (own, others): (Vec<_>, Vec<_>) = text.lines().partition(|line| line.starts_with('{'));
    assert_eq!(others, ["on standard output", "on standard error"], "{text}");
    let own = own.iter().map(|line| serde_json::from_str::<Value>(line).expect(line));
    assert!(own.clone().any(|line| line["name"] == "uromd"), "{text}");
    for line in own {
        let time = line["time"].as_str().unwrap();
        assert!(time.ends_with('Z') && humantime::parse_rfc3339(time).is_ok(), "{line}");
    }
    assert_eq!(uromd.lines_with(""), 0, "standard error stays empty");
}

#[test]
fn daemon_and_workers_write_to_a_new_file_after_a_rotation() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let (uromd, mut client) = served_with(&["--log-file", log.to_str().unwrap()]);
    let host = client.attach(any(), 1);
    fs::rename(&log, directory.path().join("log.1")).unwrap();
    let again = StartWorker { id: host.started.id, ..any() };
    let step = || drop(Client::connect(uromd.address).attach(again.clone(), 1));
    let both = |text: &str| (text.contains("][uromd]") && text.contains("][worker ")).then_some(());
    wait_for(&log, step, both);
}

#[test]
fn a_reload_opens_the_log_file_again_before_its_own_line() {
    let directory = tempfile::tempdir().unwrap();
    let (log, control) = (directory.path().join("log"), directory.path().join("control"));
    let (log_file, control) = (log.to_str().unwrap(), control.to_str().unwrap());
    let _uromd = Uromd::start_with(&[], &["--log-file", log_file, "--control", control]);
    fs::rename(&log, directory.path().join("log.1")).unwrap();
    let reloaded = command().args(["reload", "--control", control]).output().unwrap();
    assert!(reloaded.status.success(), "{reloaded:?}");
    wait_for(&log, || {}, |text| text.contains("reloaded: ").then_some(()));
}

#[test]
fn a_line_for_the_journal_is_the_default_where_standard_error_is_the_journal() {
    let (read, write) = std::io::pipe().unwrap();
    let stat = rustix::fs::fstat(&write).unwrap();
    let variable = format!("{}:{}", stat.st_dev, stat.st_ino);
    let mut daemon = command();
    daemon.args(["--listen", "192.0.2.1"]).env("JOURNAL_STREAM", variable);
    daemon.env_remove("UROM_KEY_FILE").stdout(Stdio::null()).stderr(write);
    let mut process = daemon.spawn().unwrap();
    drop(daemon);
    let text = std::io::read_to_string(read).unwrap();
    assert_eq!(process.wait().unwrap().code(), Some(1));
    let start = format!("<2>[{}][uromd][CRT] no key, ", process.id());
    assert!(text.starts_with(&start), "{text}");
}

#[test]
fn another_stream_of_the_journal_is_not_this_one() {
    for journal in ["", "1:2", "x"] {
        let text = String::from_utf8(refused(&[], journal).stderr).unwrap();
        assert!(text.lines().all(is_dated) && text.contains("][uromd][CRT] no key"), "{text}");
    }
}

#[test]
fn the_reason_of_the_end_is_in_the_log_file_and_on_standard_error() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let output = refused(&["--log-file", log.to_str().unwrap()], "");
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("uromd: no key, "));
    assert!(fs::read_to_string(&log).unwrap().contains("[CRT] no key, "));
}

#[test]
fn a_log_file_that_cannot_be_opened_is_named() {
    let output = refused(&["--log-file", "/no/such/log"], "");
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text.starts_with("uromd: the log /no/such/log: "), "{text}");
}

#[test]
fn a_command_that_succeeds_has_no_line() {
    let (uromd, _client, host) = attached(1);
    assert_eq!(host.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
    host.call(op::STATUS, 5);
    uromd.logged(&["a command of host"]);
    assert_eq!(uromd.lines_with("command of host"), 1);
}
