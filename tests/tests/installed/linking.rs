//! What the linker records in programs and plugins.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use urom_tests::c::{Source, prefix};

/// The entries of one kind in a file's dynamic section, such as `NEEDED`.
fn entries(file: &Path, kind: &str) -> Result<Vec<String>> {
    let output = Command::new("readelf").env("LC_ALL", "C").args(["-W", "-d"]).arg(file).output()?;
    ensure!(output.status.success(), "readelf {}: {}", file.display(), output.status);
    let text = String::from_utf8(output.stdout)?;
    let of_kind = text.lines().filter(|line| line.contains(&format!("({kind})")));
    of_kind
        .map(|line| {
            let name = line.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
            Ok(name.with_context(|| line.to_owned())?.0.to_owned())
        })
        .collect()
}

fn needed_of_doca(file: &Path) -> Result<Vec<String>> {
    let mut needed = entries(file, "NEEDED")?;
    needed.retain(|name| name.contains("doca"));
    needed.sort();
    Ok(needed)
}

#[test]
fn the_library_has_no_name_of_its_own() -> Result<()> {
    let library = prefix()?.lib().join("libdoca_urom.so.2");
    assert!(entries(&library, "SONAME")?.is_empty());
    assert!(!entries(&library, "NEEDED")?.is_empty(), "readelf was understood");
    Ok(())
}

#[test]
fn a_program_needs_the_three_libraries_that_it_would_need_of_docas() -> Result<()> {
    // Many compilers tell the linker to leave out what is not used.
    let program = Source::new("service_start.c").flag("-Wl,--no-as-needed").program()?;
    let names = ["libdoca_argp.so.2", "libdoca_common.so.2", "libdoca_urom.so.2"];
    assert_eq!(needed_of_doca(&program)?, names);
    Ok(())
}

#[test]
fn a_plugin_needs_libdoca_common_alone() -> Result<()> {
    let plugin = Source::new("quiet_plugin.c").plugin("worker_quiet")?;
    assert_eq!(plugin.file_name().context("it has a name")?, "worker_quiet.so");
    assert_eq!(needed_of_doca(&plugin)?, ["libdoca_common.so.2"]);
    Ok(())
}

#[test]
fn a_program_that_calls_ucx_is_given_it_by_pkg_config() -> Result<()> {
    let program = Source::new("ucx_version.c").ucx().flag("-Wl,--no-as-needed").program()?;
    let needed = entries(&program, "NEEDED")?;
    for library in ["libucp.so.0", "libucs.so.0"] {
        assert!(needed.iter().any(|name| name == library), "{library}: {needed:?}");
    }
    Ok(())
}

#[test]
fn what_does_not_compile_says_where() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("mistaken.c");
    std::fs::write(&file, "#include <doca_pe.h>\nint main(void)\n{\n\treturn doca_pe_create();\n}\n")?;
    let error = Source::new(&file).program().err().context("an argument is missing")?.to_string();
    ensure!(error.contains("mistaken.c:4") && error.contains("too few arguments"), "{error}");
    // What is experimental must be asked for.
    let unasked = Source::new("service_start.c").flag("-UDOCA_ALLOW_EXPERIMENTAL_API");
    let error = unasked.program().err().context("it does not ask")?.to_string();
    ensure!(error.contains("doca_urom_service_create") && error.contains("deprecated"), "{error}");
    Ok(())
}

#[test]
fn a_program_may_be_cpp() -> Result<()> {
    let prefix = prefix()?;
    let output = tempfile::NamedTempFile::new()?;
    let mut command = Command::new("c++");
    command.args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-x", "c++"]);
    command.arg("-DDOCA_ALLOW_EXPERIMENTAL_API").arg("-o").arg(output.path());
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("c/service_start.c"));
    command.args(prefix.pkg_config(&["--cflags", "--libs"], &["doca-urom", "doca-argp"])?);
    let result = command.output()?;
    ensure!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
    Ok(())
}
