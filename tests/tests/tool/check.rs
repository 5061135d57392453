//! `cargo urom check`.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;
use urom_tests::c::Source;

use crate::common::{copy_of, for_the_other_machine, patch, run, tool_says, tool_with};

pub(crate) fn check(file: &Path, more: &[&str]) -> Result<Value> {
    let arguments = [OsStr::new("check"), OsStr::new("--json"), file.as_os_str()];
    // Plugins in C are linked with DOCA's library.
    let library = urom_tests::c::prefix()?.library_path();
    let output = run(tool_with(arguments)?.args(more).env("LD_LIBRARY_PATH", library))?;
    let report: Value = serde_json::from_str(&output.out).with_context(|| format!("{output:?}"))?;
    assert_eq!(output.err, "");
    let errors = report["errors"].as_u64().context("a number")?;
    assert_eq!(output.code, Some(i32::from(errors > 0)), "{report:#}");
    for finding in findings(&report) {
        // Whatever is found, people are told what to do.
        assert!(finding["remedy"].as_str().is_some_and(|remedy| remedy.len() > 10), "{finding:#}");
    }
    Ok(report)
}

fn findings(report: &Value) -> &[Value] {
    report["findings"].as_array().map_or(&[], Vec::as_slice)
}

/// The finding of a code, of which there has to be one.
pub(crate) fn the<'a>(report: &'a Value, code: &str) -> Result<(&'a str, &'a str)> {
    let mut found = findings(report).iter().filter(|finding| finding["code"] == code);
    let (Some(one), None) = (found.next(), found.next()) else {
        anyhow::bail!("not one finding `{code}`: {report:#}");
    };
    Ok((one["severity"].as_str().context("a severity")?, one["text"].as_str().context("a text")?))
}

pub(crate) fn codes(report: &Value) -> Vec<&str> {
    findings(report).iter().filter_map(|finding| finding["code"].as_str()).collect()
}

pub(crate) fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} in {text:?}");
    }
}

#[test]
fn a_plugin_in_rust_is_fit() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let report = check(&copy_of("worker_graph", directory.path(), "worker_graph.so")?, &[])?;
    assert_eq!((&report["errors"], &report["warnings"]), (&0.into(), &0.into()), "{report:#}");
    assert_eq!(report["plugin"], "worker_graph");
    assert_eq!(report["version"], 1);
    assert_eq!(report["doca"], "2.7.0");
    assert_eq!(report["machine"], std::env::consts::ARCH);
    assert!(
        report["needed"]
            .as_array()
            .is_some_and(|names| names.iter().any(|name| name == "libc.so.6"))
    );
    assert!(
        report["glibc"].as_str().is_some_and(|version| version.starts_with("2.")),
        "{report:#}"
    );
    // The tests' build is for debuggers. What the kit exports for its own workers is no finding.
    assert_eq!(codes(&report), ["unstripped"], "{report:#}");
    assert_eq!(the(&report, "unstripped")?.0, "note");

    // Scripts rely on these.
    let names =
        |value: &Value| value.as_object().map(|object| object.keys().cloned().collect::<Vec<_>>());
    let fields = [
        "doca", "errors", "file", "findings", "glibc", "machine", "needed", "plugin", "version",
        "warnings",
    ];
    assert_eq!(names(&report).context("an object")?, fields);
    let first = findings(&report).first().context("a note")?;
    assert_eq!(names(first).context("an object")?, ["code", "remedy", "severity", "text"]);
    Ok(())
}

#[test]
fn plugins_in_c_are_fit_and_what_one_prints_is_not_taken_for_an_answer() -> Result<()> {
    for (source, name) in [
        (Source::new("graph_plugin.c"), "worker_graph"),
        (Source::new("quiet_plugin.c"), "worker_quiet"),
        (Source::new("odd_plugin.c").define("LOAD_PRINTS", ""), "worker_odd"),
    ] {
        let report = check(&source.plugin(name)?, &[])?;
        assert_eq!((&report["errors"], &report["version"]), (&0.into(), &1.into()), "{report:#}");
        assert!(name == "worker_odd" || report["warnings"] == 0, "{report:#}");
    }
    Ok(())
}

#[test]
fn a_plugin_in_c_that_does_not_find_docas_library_is_told_where_it_may_be() -> Result<()> {
    let file = Source::new("quiet_plugin.c").plugin("worker_quiet")?;
    let output = run(tool_with(["check"])?.arg(&file).env_remove("LD_LIBRARY_PATH"))?;
    assert_eq!(output.code, Some(1));
    assert_has(&output.out, &["libdoca_common.so.2", "LD_LIBRARY_PATH", "cargo xtask install"]);
    Ok(())
}

#[test]
fn for_people_the_facts_come_first_and_the_verdict_last() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let file = copy_of("worker_graph", directory.path(), "worker_graph.so")?;
    let output = tool_says([OsStr::new("check"), file.as_os_str()])?;
    assert_eq!((output.code, &*output.err), (Some(0), ""));
    let lines: Vec<_> = output.out.lines().collect();
    assert_has(lines[0], &[&file.display().to_string(), "this machine", "version 1", "DOCA 2.7.0"]);
    assert_eq!(
        lines[lines.len() - 1],
        "fit for a service, as the plugin `worker_graph`: 0 errors, 0 warnings"
    );
    assert!(!output.out.contains('\x1b'), "colours are for terminals");
    Ok(())
}

#[test]
fn what_is_no_shared_object_is_told_from_what_cannot_be_read() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("worker_text.so");
    for bytes in [&b"#!/bin/sh\n"[..], b"", b"\x7fELF", b"\x7fELF\x02\x01\x01"] {
        fs::write(&file, bytes)?;
        assert_eq!(the(&check(&file, &[])?, "not-elf")?.0, "error");
    }
    let whole = copy_of("worker_graph", directory.path(), "worker_graph.so")?;
    let bytes = fs::read(&whole)?;
    fs::write(&whole, &bytes[..bytes.len() / 2])?;
    assert_has(the(&check(&whole, &[])?, "not-elf")?.1, &["damaged"]);
    let program = check(&std::env::current_exe()?, &[])?;
    assert_eq!(the(&program, "not-shared")?.0, "error");
    for path in [directory.path(), &directory.path().join("nothing.so")] {
        let said = tool_says([OsStr::new("check"), path.as_os_str()])?;
        said.refused(1, &[&path.display().to_string()])?;
    }
    Ok(())
}

#[test]
fn a_file_for_another_machine_is_refused_where_one_is_asked_for_and_never_loaded() -> Result<()> {
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

#[test]
fn arguments_that_cannot_be_are_refused_with_what_can() -> Result<()> {
    for (arguments, said) in [
        (&["check"][..], "FILE"),
        (&["check", "x.so", "--target", "riscv64gc-unknown-linux-gnu"], "aarch64"),
        (&["check", "x.so", "--image", "windows"], "ubuntu-22.04"),
        (
            &["check", "x.so", "--image", "debian-12", "--target", "x86_64-unknown-linux-gnu"],
            "leave out --target",
        ),
    ] {
        tool_says(arguments)?.refused(2, &[said])?;
    }
    Ok(())
}

#[test]
fn what_is_wrong_with_a_plugin_is_one_finding_that_says_where() -> Result<()> {
    let (version, iface) = ("`urom_plugin_get_version`", "`urom_plugin_get_iface`");
    for (define, code, severity, parts) in [
        ("NO_VERSION", "no-symbol", "error", &[version][..]),
        ("NO_IFACE", "no-symbol", "error", &[iface]),
        ("VERSION_IS_DATA", "no-function", "error", &[version]),
        ("VERSION_FAILS", "failed", "error", &[version, "BAD_STATE"]),
        ("IFACE_FAILS", "failed", "error", &[iface, "NO_MEMORY"]),
        ("NO_WORD", "no-version-word", "error", &[]),
        ("OLD_WORD", "old-version-word", "warning", &["2.6.0"]),
        ("NO_METHODS", "no-methods", "error", &["`addr`", "`progress`"]),
        ("LOAD_CRASHES", "crash", "error", &["while it was loaded", "SIGABRT", "cannot go on"]),
        ("LOAD_EXITS", "crash", "error", &["while it was loaded", "exit status: 3"]),
        ("LOAD_HANGS", "hang", "error", &["while it was loaded", "in 1 s"]),
        ("VERSION_CRASHES", "crash", "error", &["in `urom_plugin_get_version`", "SIGABRT"]),
        ("IFACE_CRASHES", "crash", "error", &["in `urom_plugin_get_iface`", "SIGABRT"]),
        ("EXIT_CRASHES", "crash", "warning", &["while it exited", "SIGABRT"]),
        ("UNDEFINED", "load", "error", &["nobody_has_this"]),
    ] {
        let source = Source::new("odd_plugin.c").flag("-Wno-unused-function").define(define, "");
        let report = check(&source.plugin("worker_odd")?, &["--limit", "1"])?;
        let is_loaded = report["version"] != Value::Null;
        assert!(code != "no-symbol" || !is_loaded, "what lacks a function is not loaded");
        let (is, text) = the(&report, code)?;
        assert_eq!(is, severity, "{report:#}");
        let others = findings(&report).iter().filter(|finding| finding["severity"] != "note");
        assert_eq!(others.count(), 1, "{report:#}");
        assert_has(text, parts);
        assert!(!text.contains("`open`"), "a method that is there: {text}");
    }
    Ok(())
}

#[test]
fn symbols_besides_the_two_are_noted() -> Result<()> {
    let file = Source::new("odd_plugin.c").define("MORE_EXPORTS", "").plugin("worker_odd")?;
    let report = check(&file, &[])?;
    let (severity, text) = the(&report, "other-exports")?;
    assert_eq!(severity, "note");
    assert_has(text, &["`spare_of_odd_plugin`"]);
    let plain = check(&Source::new("odd_plugin.c").plugin("worker_odd")?, &[])?;
    assert!(!codes(&plain).contains(&"other-exports"), "{plain:#}");
    Ok(())
}

#[test]
fn one_name_for_two_functions_is_refused() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let script = directory.path().join("versions.map");
    fs::write(&script, "ONE { };\nTWO { global: urom_plugin_get_version; } ONE;\n")?;
    let source = Source::new("odd_plugin.c").define("TWO_VERSIONS", "");
    let file =
        source.flag(format!("-Wl,--version-script={}", script.display())).plugin("worker_odd")?;
    let report = check(&file, &[])?;
    let (severity, text) = the(&report, "two-exports")?;
    assert_eq!(severity, "error");
    assert_has(text, &["`urom_plugin_get_version`"]);
    Ok(())
}

#[test]
fn a_library_that_is_missing_is_told_in_the_loader_s_words() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let library = directory.path().join("libgone.so");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-Wl,-soname,libgone.so.1", "-x", "c", "/dev/null", "-o"]).arg(&library);
    urom_tests::run(&mut cc)?;
    let source =
        Source::new("odd_plugin.c").flag("-Wl,--no-as-needed").flag(library.display().to_string());
    let report = check(&source.plugin("worker_odd")?, &[])?;
    assert_has(the(&report, "load")?.1, &["libgone.so.1"]);
    assert!(
        report["needed"]
            .as_array()
            .is_some_and(|names| names.iter().any(|name| name == "libgone.so.1"))
    );
    Ok(())
}

#[test]
fn names_have_to_fit() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let odd = Source::new("odd_plugin.c").plugin("worker_odd")?;
    let named = |name: &str| -> Result<Value> {
        let file = directory.path().join(name);
        fs::copy(&odd, &file)?;
        check(&file, &[])
    };
    assert_eq!(named(&format!("{}.so", "x".repeat(47)))?["errors"], 0);
    let report = named(&format!("{}.so", "x".repeat(48)))?;
    assert_has(the(&report, "name-length")?.1, &["48 bytes", "47"]);
    let report = named("worker_odd.so.1")?;
    assert_eq!(the(&report, "file-name")?.0, "error");
    let report = named("libworker_odd.so")?;
    assert_eq!(the(&report, "library-name")?.0, "warning");
    Ok(())
}

#[test]
fn a_file_under_another_plugins_name_is_refused_and_under_cargos_it_is_not() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let report = check(&copy_of("worker_graph", directory.path(), "worker_other.so")?, &[])?;
    let (severity, text) = the(&report, "name-differs")?;
    assert_eq!(severity, "error");
    assert_has(text, &["`worker_other`", "`worker_graph`"]);
    let report = check(&copy_of("worker_graph", directory.path(), "libworker_graph.so")?, &[])?;
    assert_eq!(
        (&report["errors"], &report["plugin"]),
        (&0.into(), &"worker_graph".into()),
        "{report:#}"
    );
    Ok(())
}

#[test]
fn a_damaged_description_is_an_error_as_services_refuse_it_and_an_odd_one_is_a_warning()
-> Result<()> {
    let directory = tempfile::tempdir()?;
    let damaged = copy_of("worker_graph", directory.path(), "worker_graph.so")?;
    patch(&damaged, b"uromdesc", b"uromdusk")?;
    let acting = copy_of("worker_sandbox", directory.path(), "worker_sandbox.so")?;
    patch(&acting, b"TagSend", b"Tag\x1b[2J")?;
    let taken = "a service takes the file all the same";
    for (file, reason, means, severity) in [
        (&damaged, "does not begin as a description does", "no service takes it", "error"),
        (&acting, "`Tag\\u{1b}[2J`", taken, "warning"),
    ] {
        let report = check(file, &[])?;
        let (is, text) = the(&report, "description")?;
        let errors = u64::from(severity == "error");
        assert_eq!((is, &report["errors"]), (severity, &errors.into()), "{report:#}");
        assert_has(text, &[reason, means]);
    }
    Ok(())
}

#[test]
fn symbols_that_only_the_loader_finds_are_left_to_it() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let file = copy_of("worker_graph", directory.path(), "worker_graph.so")?;
    let mut bytes = fs::read(&file)?;
    // `e_shoff`, and `e_shentsize`, `e_shnum` and `e_shstrndx`: a file without sections, as tools
    // that strip hard leave it.
    bytes[40..48].fill(0);
    bytes[58..64].fill(0);
    fs::write(&file, bytes)?;
    let report = check(&file, &[])?;
    assert_eq!((&report["errors"], &report["version"]), (&0.into(), &1.into()), "{report:#}");
    Ok(())
}
