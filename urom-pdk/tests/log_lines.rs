//! What a plugin writes to standard error when a command fails: one line each, that says what and where.
#![cfg(not(miri))]

mod common;

use std::process::Command;

use common::Worker;
use common::protocol::*;
use urom_pdk::DocaError;

/// The other process: opens a plugin whose handler fails in every way.
#[test]
#[ignore = "the other process of the tests in this file"]
fn failing() {
    // Before there is a plugin, panics are Rust's business.
    let _ = std::panic::catch_unwind(|| panic!("before the plugin"));
    let mut worker = Worker::open::<Obedient, Words>().expect("it opens");
    worker.send(3, 1, &command(PANIC_AT_ONCE, 0));
    worker.send(3, 2, &command(FAIL, DocaError::DRIVER.0.into()));
    worker.send(3, 2, &command(FAIL_NASTILY, 0));
    worker.send(3, 2, b"short");
    assert_eq!(worker.progress().len(), 4);
    script().refusal_panics.set(true);
    worker.send(3, 3, &command(FAIL, DocaError::NOT_FOUND.0.into()));
    assert_eq!(worker.progress().len(), 1);
    let _ = std::panic::catch_unwind(|| panic!("outside of the plugin"));
    script().progress_panics.set(true);
    assert!(worker.progress().is_empty());
}

/// The other process: a host floods a plugin with what is no command.
#[test]
#[ignore = "the other process of the tests in this file"]
fn flooded() {
    let mut worker = Worker::open::<Obedient, Words>().expect("it opens");
    for _ in 0..1000 {
        worker.send(3, 2, b"short");
        assert_eq!(worker.progress().len(), 1);
    }
    worker.send(3, 2, &command(FAIL, DocaError::DRIVER.0.into()));
    assert_eq!(worker.progress().len(), 1);
}

/// Runs one of the above and gives the lines of its standard error.
fn lines(of: &str) -> Vec<String> {
    lines_with("0", of)
}

/// The same with a value of `RUST_BACKTRACE`.
fn lines_with(backtrace: &str, of: &str) -> Vec<String> {
    let program = std::env::current_exe().unwrap();
    // An emulated test cannot start its own kind by itself.
    let runner = std::env::var("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER").unwrap_or_default();
    let runner = runner.split_whitespace().filter(|_| cfg!(target_arch = "aarch64")).map(Into::into);
    let mut words: Vec<std::ffi::OsString> = runner.collect();
    words.push(program.into());
    let output = Command::new(&words[0])
        .args(&words[1..])
        .args(["--exact", "--ignored", "--nocapture", of])
        .env("RUST_BACKTRACE", backtrace)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{text}");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_backtrace_is_a_line_for_each_function_from_the_one_that_panicked_on() {
    let lines = lines_with("1", "failing");
    let at = lines.iter().position(|line| line.contains("PanicAtOnce of 16 bytes")).expect("it is logged");
    let frames: Vec<_> = lines[at + 1..].iter().map_while(|line| line.split_once("]   in ")).collect();
    let is_line = |place: &str| place.rsplit(':').take(2).all(|part| part.parse::<u32>().is_ok());
    let (_, first) = frames.first().unwrap_or_else(|| panic!("no function in {lines:#?}"));
    assert!(first.contains("protocol.rs:") && is_line(first), "{first}");
    assert!(frames.iter().all(|(head, _)| head.contains("[ERR]")), "{frames:#?}");
    assert!(frames.iter().any(|(_, frame)| frame.contains("log_lines.rs:")), "{frames:#?}");
}

#[test]
fn every_failure_is_one_line() {
    let lines = lines("failing");
    let only = |part: &str| -> &str {
        let mut found = lines.iter().filter(|line| line.contains(part));
        let line = found.next().unwrap_or_else(|| panic!("{part} is nowhere in {lines:#?}"));
        assert_eq!(found.next(), None, "{part} is there twice");
        line
    };
    let panic = only("before there is a future");
    assert!(
        panic.contains("[ERR]") && panic.contains("PanicAtOnce of 16 bytes from connection 3"),
        "{panic}"
    );
    assert!(panic.contains("its handler panicked at ") && panic.contains("protocol.rs:"), "{panic}");
    let failure = only("DOCA_ERROR_DRIVER");
    assert!(failure.contains("[WRN]") && failure.contains("Fail of 16 bytes"), "{failure}");
    only("its Display panicked at ");
    assert!(only("DOCA_ERROR_INVALID_VALUE").contains("unknown command of 5 bytes"));
    only("a handler's error panicked at ");
    let refusal = only("P::refusal panicked at ");
    assert!(refusal.contains("[ERR]") && refusal.contains("as the test asks"), "{refusal}");
    let progress = only("the handler's progress panicked at ");
    assert!(progress.contains("protocol.rs:"), "{progress}");
    // Rust's own lines, for what is not the plugin's.
    assert!(only("before the plugin") == "before the plugin");
    assert!(only("outside of the plugin") == "outside of the plugin");
    assert_eq!(lines.iter().filter(|line| line.starts_with("thread '")).count(), 2, "{lines:#?}");
}

#[test]
fn a_flood_of_failures_is_a_few_lines_and_their_number() {
    let lines = lines("flooded");
    let of = |part: &str| lines.iter().filter(|line| line.contains(part)).collect::<Vec<_>>();
    let each = of("unknown command of 5 bytes");
    // Eight a second: on a machine that has other things to do a thousand commands may take some.
    assert!((8..=80).contains(&each.len()), "{lines:#?}");
    assert_eq!(of("unknown command: ").len(), 1, "{lines:#?}");
    assert!(of("unknown command: ")[0].contains("more failed, and were not logged"), "{lines:#?}");
    assert_eq!(of("DOCA_ERROR_DRIVER").len(), 1, "another kind has its line: {lines:#?}");
}
