//! A plugin's lines on standard error: one with the error and location of each failed command.
#![cfg(not(miri))]

mod common;
#[path = "common/again.rs"]
mod program;

use common::open;
use common::protocol::*;
use program::again;
use urom_pdk::DocaError;

#[test]
#[ignore = "the other process of the tests in this file"]
fn failing() {
    // Without a plugin, Rust's hook handles panics.
    let _ = std::panic::catch_unwind(|| panic!("before the plugin"));
    let mut worker = open();
    worker.send(3, 1, &command(PANIC_AT_ONCE, 0));
    worker.send(3, 2, &command(FAIL, DocaError::DRIVER.code().into()));
    worker.send(3, 2, &command(FAIL_NASTILY, 0));
    worker.send(3, 2, b"short");
    assert_eq!(worker.progress().len(), 4);
    script().refusal_panics.set(true);
    worker.send(3, 3, &command(FAIL, DocaError::NOT_FOUND.code().into()));
    assert_eq!(worker.progress().len(), 1);
    let _ = std::panic::catch_unwind(|| panic!("outside of the plugin"));
    script().progress_panics.set(true);
    assert!(worker.progress().is_empty());
}

#[test]
#[ignore = "the other process of the tests in this file"]
fn flooded() {
    let mut worker = open();
    for _ in 0..1000 {
        worker.send(3, 2, b"short");
        assert_eq!(worker.progress().len(), 1);
    }
    worker.send(3, 2, &command(FAIL, DocaError::DRIVER.code().into()));
    assert_eq!(worker.progress().len(), 1);
}

/// Runs in the other process: a plugin logs through other crates. Its logger is installed first.
#[test]
#[ignore = "the other process of the tests in this file"]
fn by_other_crates() {
    log::error!("before the plugin");
    let first = open();
    let second = open();
    log::info!(bytes = 7, peer = "node 7"; "by log");
    log::debug!("too quiet by log");
    tracing::warn!(target: "another::part", bytes = 7, peer = "node 7", "by tracing");
    tracing::error!(only = 1);
    tracing::debug!("too quiet by tracing");
    tracing::info_span!("a span", of = 1).in_scope(|| tracing::info!("inside of a span"));
    drop((first, second));
    log::set_max_level(log::LevelFilter::Error);
    log::info!("the plugin wants less");
}

fn lines(of: &str) -> Vec<String> {
    let output = again(of).env("RUST_BACKTRACE", "0").output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{text}");
    text.lines().map(str::to_owned).collect()
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
    assert!(
        panic.contains("its handler panicked at ") && panic.contains("protocol.rs:"),
        "{panic}"
    );
    let failure = only("as the test asks (DOCA_ERROR_DRIVER)");
    assert!(failure.contains("[WRN]") && failure.contains("Fail of 16 bytes"), "{failure}");
    let location = "][protocol.rs:";
    assert!(
        failure.contains(location) && panic.contains(location),
        "where the handler failed: {failure}"
    );
    let malformed = only("unknown command of 5 bytes");
    assert!(malformed.contains("[DOCA][WRN]["), "{malformed}");
    assert!(!malformed.contains(".rs:"), "no line of the kit's: {malformed}");
    only("its Display panicked at ");
    assert!(only("DOCA_ERROR_INVALID_VALUE").contains("unknown command of 5 bytes"));
    only("a handler's error panicked at ");
    let refusal = only("P::refusal panicked at ");
    assert!(refusal.contains("[ERR]") && refusal.contains("as the test asks"), "{refusal}");
    let progress = only("the handler's progress panicked at ");
    assert!(progress.contains("protocol.rs:"), "{progress}");
    // Rust's own lines, for panics outside the plugin.
    assert!(only("before the plugin") == "before the plugin");
    assert!(only("outside of the plugin") == "outside of the plugin");
    assert_eq!(lines.iter().filter(|line| line.starts_with("thread '")).count(), 2, "{lines:#?}");
}

fn behind_thread(line: &str) -> &str {
    line.splitn(3, "][").nth(2).unwrap_or_default()
}

#[test]
fn lines_through_log_and_tracing_are_the_plugins() {
    let lines = lines("by_other_crates");
    let (this, name) = (include_str!("log_lines.rs"), "worker_words");
    let line_of =
        |text: &str| this.lines().position(|line| line.contains(text)).map_or(0, |at| at + 1);
    let (by_log, by_tracing) = (line_of("\"by log\""), line_of("\"by tracing\""));
    let (only, inside) = (line_of("only = 1"), line_of("inside of a span"));
    let fields = r#"bytes=7 peer="node 7""#;
    let found: Vec<&str> =
        lines.iter().map(|line| behind_thread(line)).filter(|line| !line.is_empty()).collect();
    assert_eq!(
        found,
        [
            format!("DOCA][INF][log_lines.rs:{by_log}][{name} log_lines] by log {fields}"),
            format!(
                "DOCA][WRN][log_lines.rs:{by_tracing}][{name} another::part] by tracing {fields}"
            ),
            format!("DOCA][ERR][log_lines.rs:{only}][{name} log_lines] only=1"),
            format!("DOCA][INF][log_lines.rs:{inside}][{name} log_lines] a span; of=1"),
            format!("DOCA][INF][log_lines.rs:{inside}][{name} log_lines] inside of a span"),
        ]
    );
}

#[test]
fn a_flood_of_failures_is_a_few_lines_and_their_number() {
    let lines = lines("flooded");
    let of = |part: &str| lines.iter().filter(|line| line.contains(part)).collect::<Vec<_>>();
    let each = of("unknown command of 5 bytes");
    // Eight a second: a busy machine may take longer for a thousand commands.
    assert!((8..=80).contains(&each.len()), "{lines:#?}");
    assert_eq!(of("unknown command: ").len(), 1, "{lines:#?}");
    assert!(of("unknown command: ")[0].contains("more failed, and were not logged"), "{lines:#?}");
    assert_eq!(of("DOCA_ERROR_DRIVER").len(), 1, "another kind has its line: {lines:#?}");
}
