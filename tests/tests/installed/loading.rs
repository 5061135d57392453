//! Programs that have some of the libraries, or load them, in any order, or several of a kind.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result};
use tempfile::TempDir;
use urom_tests::c::prefix;

use crate::compiler;

fn copied(names: &[&str]) -> Result<TempDir> {
    let directory = tempfile::tempdir()?;
    for name in names {
        fs::copy(prefix()?.lib().join(name), directory.path().join(name))
            .with_context(|| (*name).to_owned())?;
    }
    Ok(directory)
}

/// Runs a program of `tests/c`, linked with `libdoca_common` alone, with a directory's libraries.
fn run(source: &str, libraries: &Path, arguments: &[&Path]) -> Result<Output> {
    let directory = tempfile::tempdir()?;
    let program = directory.path().join("program");
    let mut command = compiler("cc");
    command.args(["-std=gnu11", "-o"]).arg(&program);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("c").join(source));
    urom_tests::run(
        command.args(prefix()?.pkg_config(&["--cflags", "--libs"], &["doca-common"])?),
    )?;
    let mut command = Command::new(&program);
    // No other UCX than the one that the libraries name.
    command.env("LD_LIBRARY_PATH", libraries).env("UROM_DEVICE", "mlx5_0").args(arguments);
    Ok(command.output()?)
}

#[track_caller]
fn ends(output: &Output, code: i32, parts: &[&str]) {
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for part in parts {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_program_with_libdoca_common_alone_has_log_errors_engines_and_devices() -> Result<()> {
    let output = run("common_alone.c", &prefix()?.lib(), &[])?;
    ends(&output, 0, &["DOCA_ERROR_NOT_FOUND", "device mlx5_0", "engine 0"]);
    Ok(())
}

#[test]
fn without_libdoca_urom_log_and_errors_work_and_the_rest_says_what_is_missing() -> Result<()> {
    let alone = copied(&["libdoca_common.so.2"])?;
    let output = run("common_alone.c", alone.path(), &[])?;
    let missing = "needs \"libdoca_urom.so.2\", which cannot be loaded";
    ends(
        &output,
        1,
        &[
            "DOCA_ERROR_NOT_FOUND",
            missing,
            "No such file",
            "doca_pe_create(&pe) gave DOCA_ERROR_INITIALIZATION",
        ],
    );
    Ok(())
}

#[test]
fn libraries_may_be_loaded_in_either_order() -> Result<()> {
    let lib = prefix()?.lib();
    let (common, urom) = (lib.join("libdoca_common.so.2"), lib.join("libdoca_urom.so.2"));
    for order in [[&*common, &*urom], [&*urom, &*common]] {
        let output = run("load_in_order.c", &lib, &order)?;
        ends(&output, 0, &["idle"]);
    }
    Ok(())
}

#[test]
fn a_second_libdoca_urom_in_a_process_is_told_and_the_first_works_on() -> Result<()> {
    let copy = copied(&["libdoca_urom.so.2"])?;
    let (lib, second) = (prefix()?.lib(), copy.path().join("libdoca_urom.so.2"));
    let output = run("load_in_order.c", &lib, &[&lib.join("libdoca_urom.so.2"), &second])?;
    ends(&output, 2, &["idle", "a second libdoca_urom was loaded", "DOCA_ERROR_INVALID_VALUE"]);
    Ok(())
}

#[test]
fn a_libdoca_common_of_another_kind_is_refused_by_the_loader_with_the_name_that_it_lacks()
-> Result<()> {
    let copy = copied(&["libdoca_urom.so.2"])?;
    let source = copy.path().join("common.c");
    fs::write(&source, "int doca_log(void);\nint doca_log(void) { return 0; }\n")?;
    let common = copy.path().join("libdoca_common.so.2");
    let mut command = Command::new("cc");
    command.args(["-shared", "-fPIC", "-Wl,-soname,libdoca_common.so.2", "-o"]).arg(&common);
    urom_tests::run(command.arg(&source))?;
    let output = run("load_in_order.c", copy.path(), &[&copy.path().join("libdoca_urom.so.2")])?;
    ends(&output, 127, &["undefined symbol: urom_libdoca_join"]);
    Ok(())
}
