//! Dynamic sections of linked programs and plugins.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use urom_tests::c::{Source, prefix};
use urom_tests::run;

pub(crate) fn entries(file: &Path, kind: &str) -> Result<Vec<String>> {
    let text = run(Command::new("readelf").env("LC_ALL", "C").args(["-W", "-d"]).arg(file))?;
    let of_kind = text.lines().filter(|line| line.contains(&format!("({kind})")));
    of_kind
        .map(|line| {
            let name = line.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
            Ok(name.with_context(|| line.to_owned())?.0.to_owned())
        })
        .collect()
}

pub(crate) fn needed_of_doca(file: &Path) -> Result<Vec<String>> {
    let mut needed = entries(file, "NEEDED")?;
    needed.retain(|name| name.contains("doca"));
    needed.sort();
    Ok(needed)
}

/// Functions in DOCA's interface, without a plugin's functions, and in the headers.
fn functions() -> Vec<&'static str> {
    const NAMES: &str = include_str!("../../../urom-abi/tests/docas_interface.txt");
    let prototypes =
        NAMES.lines().filter(|line| line.ends_with(");") && !line.starts_with("typedef"));
    let plain = prototypes.filter(|line| !line.contains(": "));
    let names = plain.filter_map(|line| line.split_once('(')?.0.rsplit([' ', '*']).next());
    names.filter(|name| !name.starts_with("urom_plugin_")).collect()
}

#[test]
fn a_program_that_uses_every_function_links_in_any_order_of_the_libraries() -> Result<()> {
    let functions = functions();
    ensure!(functions.len() >= 180, "{functions:?}");
    let list: String = functions.iter().map(|name| format!("\t(void *){name},\n")).collect();
    let headers =
        "argp buf buf_inventory buf_pool ctx dev error graph log mmap mmap_advise pe sync_event urom version"
            .split(' ');
    let headers: String = headers.map(|name| format!("#include <doca_{name}.h>\n")).collect();
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("all.c");
    std::fs::write(
        &file,
        format!(
            "{headers}void *const all[] = {{\n{list}}};\nint main(void)\n{{\n\treturn all[0] == NULL;\n}}\n"
        ),
    )?;
    let prefix = prefix()?;
    let libraries = ["-ldoca_common", "-ldoca_argp", "-ldoca_urom"];
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
        for needed in ["-Wl,--as-needed", "-Wl,--no-as-needed"] {
            let output = directory.path().join("all");
            let mut command = Command::new("cc");
            command.args(["-Wall", "-Wextra", "-Werror", "-DDOCA_ALLOW_EXPERIMENTAL_API"]);
            command.arg("-o").arg(&output).arg(&file);
            command.args(prefix.pkg_config(&["--cflags", "--libs-only-L"], &["doca-urom"])?);
            run(command.arg(needed).args(order.map(|at| libraries[at])))?;
            assert_eq!(needed_of_doca(&output)?, LIBRARIES);
            run(Command::new(&output).env("LD_LIBRARY_PATH", prefix.library_path()))?;
        }
    }
    Ok(())
}

pub(crate) const LIBRARIES: [&str; 3] =
    ["libdoca_argp.so.2", "libdoca_common.so.2", "libdoca_urom.so.2"];

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
fn a_compile_error_names_the_line() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("mistaken.c");
    std::fs::write(
        &file,
        "#include <doca_pe.h>\nint main(void)\n{\n\treturn doca_pe_create();\n}\n",
    )?;
    let error = Source::new(&file).program().err().context("an argument is missing")?.to_string();
    ensure!(error.contains("mistaken.c:4") && error.contains("too few arguments"), "{error}");
    let unasked = Source::new("service_start.c").flag("-UDOCA_ALLOW_EXPERIMENTAL_API");
    let error = unasked.program().err().context("it does not ask")?.to_string();
    ensure!(error.contains("doca_urom_service_create") && error.contains("deprecated"), "{error}");
    Ok(())
}
