//! `cargo urom check` for other machines and for BlueField operating systems.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::common::{copy_of, tool};

fn check(file: &Path, more: &[&str]) -> Result<Value> {
    let arguments = [OsStr::new("check"), OsStr::new("--json"), file.as_os_str()];
    let output = tool(arguments)?.args(more).output()?;
    let report = serde_json::from_slice(&output.stdout);
    let report: Value = report.with_context(|| format!("{output:?}"))?;
    assert_eq!(output.stderr, b"");
    let errors = report["errors"].as_u64().context("a number")?;
    assert_eq!(output.status.code(), Some(i32::from(errors > 0)), "{report:#}");
    for finding in findings(&report) {
        // Every finding has advice.
        assert!(finding["remedy"].as_str().is_some_and(|remedy| remedy.len() > 10), "{finding:#}");
    }
    Ok(report)
}

fn findings(report: &Value) -> &[Value] {
    report["findings"].as_array().map_or(&[], Vec::as_slice)
}

fn the<'a>(report: &'a Value, code: &str) -> Result<(&'a str, &'a str)> {
    let mut found = findings(report).iter().filter(|finding| finding["code"] == code);
    let (Some(one), None) = (found.next(), found.next()) else {
        anyhow::bail!("not one finding `{code}`: {report:#}");
    };
    Ok((one["severity"].as_str().context("a severity")?, one["text"].as_str().context("a text")?))
}

fn codes(report: &Value) -> Vec<&str> {
    findings(report).iter().filter_map(|finding| finding["code"].as_str()).collect()
}

fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} in {text:?}");
    }
}

fn patch(file: &Path, from: &[u8], to: &[u8]) -> Result<()> {
    assert_eq!(from.len(), to.len(), "a file whose parts move is another file");
    let mut bytes = fs::read(file)?;
    let offsets: Vec<_> = bytes
        .windows(from.len())
        .enumerate()
        .filter(|(_, part)| *part == from)
        .map(|(at, _)| at)
        .collect();
    ensure!(!offsets.is_empty(), "{} does not have these bytes", file.display());
    for at in offsets {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    Ok(fs::write(file, bytes)?)
}

fn for_the_other_machine(file: &Path) -> Result<&'static str> {
    let (machine, name) = match std::env::consts::ARCH {
        "aarch64" => ([62, 0], "x86-64"),
        _ => ([183, 0], "AArch64"),
    };
    let mut bytes = fs::read(file)?;
    bytes[18..20].copy_from_slice(&machine);
    fs::write(file, bytes)?;
    Ok(name)
}

#[test]
fn a_file_for_another_machine_than_requested_is_refused_and_never_loaded() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let file = copy_of("worker_graph", directory.path(), "worker_graph.so")?;
    let ours = std::env::consts::ARCH;
    let (other, triple) = match ours {
        "aarch64" => ("x86_64", "x86_64-unknown-linux-gnu"),
        _ => ("aarch64", "aarch64-unknown-linux-gnu"),
    };
    assert_has(the(&check(&file, &["--target", triple])?, "machine")?.1, &["is asked for"]);

    let name = for_the_other_machine(&file)?;
    let report = check(&file, &["--target", triple])?;
    assert_eq!(report["errors"], 0, "{report:#}");
    assert_eq!((&report["machine"], &report["version"]), (&other.into(), &Value::Null));
    assert_has(the(&report, "not-called")?.1, &[name]);
    assert_eq!(check(&file, &[])?["errors"], 0, "both machines will do");
    assert_has(the(&check(&file, &["--target", ours])?, "machine")?.1, &[name]);

    fs::write(&file, {
        let mut bytes = fs::read(&file)?;
        bytes[18..20].copy_from_slice(&[243, 0]);
        bytes
    })?;
    assert_has(the(&check(&file, &[])?, "machine")?.1, &["RISC-V", "no UROM worker runs"]);
    Ok(())
}

/// A plugin of this machine with a BlueField header.
fn bluefield_plugin(directory: &Path) -> Result<PathBuf> {
    let file = copy_of("worker_graph", directory, "worker_graph.so")?;
    if std::env::consts::ARCH != "aarch64" {
        for_the_other_machine(&file)?;
        // The other machine's loader name is longer. This library name has that length, and every
        // image has the library.
        patch(&file, b"ld-linux-x86-64.so.2\0", b"libnl-route-3.so.200\0")?;
    }
    Ok(file)
}

#[test]
fn a_newer_glibc_than_an_image_has_is_an_error_for_this_image() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let file = bluefield_plugin(directory.path())?;
    patch(&file, b"GLIBC_2.34\0", b"GLIBC_2.38\0")?;
    let some = check(&file, &[])?;
    let (severity, text) = the(&some, "glibc")?;
    assert_eq!(severity, "warning", "some images have it");
    assert_has(text, &["2.38", "Ubuntu 22.04 has 2.35", "Debian 12 has 2.36", "Oracle Linux 9"]);
    assert!(!text.contains("24.04"), "{text}");
    let old = check(&file, &["--image", "ubuntu-22.04"])?;
    assert_eq!(the(&old, "glibc")?.0, "error");
    let new = check(&file, &["--image", "ubuntu-24.04"])?;
    assert!(!codes(&new).contains(&"glibc"), "{new:#}");
    patch(&file, b"GLIBC_2.38\0", b"GLIBC_2.99\0")?;
    assert_eq!(the(&check(&file, &[])?, "glibc")?.0, "error", "no image has it");
    Ok(())
}

#[test]
fn libraries_that_an_image_may_lack_are_reported() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let file = bluefield_plugin(directory.path())?;
    let report = check(&file, &["--image", "ubuntu-22.04"])?;
    assert!(!codes(&report).contains(&"library"), "{report:#}");
    patch(&file, b"libgcc_s.so.1\0", b"libmagic.so.1\0")?;
    let (severity, text) = {
        let report = check(&file, &["--image", "ubuntu-22.04"])?;
        let (severity, text) = the(&report, "library")?;
        (severity.to_owned(), text.to_owned())
    };
    assert_eq!(severity, "warning");
    assert_has(&text, &["libmagic.so.1", "Ubuntu 22.04"]);
    patch(&file, b"libmagic.so.1\0", b"libasan.so.08\0")?;
    assert_eq!(the(&check(&file, &["--image", "ubuntu-22.04"])?, "build-library")?.0, "error");
    Ok(())
}
