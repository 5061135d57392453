//! What rustdoc makes of documentation that the macros copy: `ui-tests/renamed/src/documented.rs`.

use std::path::Path;
use std::process::{Command, Output};

/// Runs cargo over that crate.
fn cargo(args: &[&str], behind: &[&str]) -> Output {
    Command::new(env!("CARGO"))
        .args(args)
        .args([
            "--frozen",
            "--quiet",
            "--color=never",
            "--package",
            "ui-tests-renamed",
            "--target-dir",
        ])
        .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("documentation"))
        .args(behind)
        .env("RUSTDOCFLAGS", "-Dwarnings")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap()
}

#[test]
fn no_link_is_broken() {
    let doc = cargo(&["doc", "--no-deps"], &[]);
    assert!(doc.status.success(), "{}", String::from_utf8_lossy(&doc.stderr));
}

#[test]
fn every_example_runs_once_and_where_it_was_written() {
    let list = cargo(&["test", "--doc"], &["--", "--list", "documented"]);
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
