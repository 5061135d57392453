//! Tests that run cargo again: rustdoc on copied documentation (`renamed/src/documented.rs`), and
//! plugins built with the profile setting `panic = "abort"`.

use std::path::Path;
use std::process::{Command, Output};

/// Runs cargo for a package in this test's target directory, which contains the dependencies.
fn cargo(before: &[&str], package: &str, behind: &[&str]) -> Output {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    Command::new(env!("CARGO"))
        .args(before)
        .args(["--frozen", "--quiet", "--color=never", "--package", package, "--target-dir"])
        .arg(target)
        .args(behind)
        .env("RUSTDOCFLAGS", "-Dwarnings")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap()
}

#[test]
fn no_link_is_broken() {
    let doc = cargo(&["doc", "--no-deps"], "ui-tests-renamed", &[]);
    assert!(doc.status.success(), "{}", String::from_utf8_lossy(&doc.stderr));
}

#[test]
fn every_example_runs_once_and_where_it_was_written() {
    let behind = ["--", "--list", "documented"];
    let list = cargo(&["test", "--doc"], "ui-tests-renamed", &behind);
    let stdout = String::from_utf8(list.stdout).unwrap();
    let mut examples: Vec<_> = stdout
        .lines()
        .filter_map(|line| line.strip_suffix(": test")?.split_once(" - ")?.1.split_once(" (line "))
        .map(|(item, _)| item)
        .collect();
    examples.sort_unstable();
    let of = |item: &str| format!("documented::Command::{item}");
    assert_eq!(examples, [of("Undo"), of("Work"), of("Work::n"), of("Work::v")], "{stdout}");
}

#[test]
fn a_plugin_that_aborts_on_panics_is_refused_unless_that_is_allowed() {
    let check = |package| {
        let args = ["check", "--config", "profile.dev.panic='abort'"];
        cargo(&args, package, &[])
    };
    let refused = check("graph-plugin");
    let stderr = String::from_utf8(refused.stderr).unwrap();
    let error = stderr.lines().find(|line| line.starts_with("error: "));
    let expected = include_str!("../fail/urom_plugin/panic_abort.stderr");
    assert!(!refused.status.success());
    assert_eq!(error, expected.lines().next(), "{stderr}");

    let allowed = check("ui-tests-renamed");
    assert!(allowed.status.success(), "{}", String::from_utf8_lossy(&allowed.stderr));
}
