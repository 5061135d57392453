//! What the linker records in programs and plugins.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use urom_tests::c::{Source, prefix};
use urom_tests::run;

use crate::compiler;

/// The entries of one kind in a file's dynamic section, such as `NEEDED`.
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

#[test]
fn each_library_has_docas_name_and_needs_no_more_than_docas() -> Result<()> {
    let lib = prefix()?.lib();
    for (library, needed) in [
        ("libdoca_common.so.2", &[][..]),
        ("libdoca_argp.so.2", &["libdoca_common.so.2"]),
        ("libdoca_urom.so.2", &["libdoca_common.so.2"]),
    ] {
        assert_eq!(entries(&lib.join(library), "SONAME")?, [library]);
        assert_eq!(needed_of_doca(&lib.join(library))?, needed, "{library}");
        // Only UROM needs UCX.
        let needs_ucx =
            entries(&lib.join(library), "NEEDED")?.iter().any(|name| name.starts_with("libuc"));
        assert_eq!(needs_ucx, library == "libdoca_urom.so.2", "{library}");
    }
    Ok(())
}

/// The functions of DOCA's interface without a plugin's, and those in the headers.
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
    ensure!(functions.len() >= 130, "{functions:?}");
    let list: String = functions.iter().map(|name| format!("\t(void *){name},\n")).collect();
    let headers = "argp buf buf_inventory ctx dev error log mmap pe urom version".split(' ');
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
            let mut command = compiler("cc");
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

/// Links a program of a few lines with some of the libraries, without those that it does not use.
fn program_with(code: &str, libraries: &[&str], output: &Path) -> Result<String> {
    let file = output.with_extension("c");
    std::fs::write(&file, code)?;
    let mut command = compiler("cc");
    command.arg("-o").arg(output).arg(&file);
    command.args(prefix()?.pkg_config(&["--cflags", "--libs-only-L"], &["doca-urom"])?);
    run(command.arg("-Wl,--as-needed").args(libraries))
}

#[test]
fn a_program_needs_the_libraries_whose_functions_it_calls() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let output = directory.path().join("program");
    let all = ["-ldoca_urom", "-ldoca_argp", "-ldoca_common"];
    let log =
        "#include <doca_log.h>\nint main(void) { return doca_log_backend_create_standard(); }\n";
    let argp =
        "#include <doca_argp.h>\nint main(void) { return doca_argp_destroy() == DOCA_SUCCESS; }\n";
    let urom = "#include <doca_urom.h>\nint main(void) { return doca_urom_worker_create(NULL) == DOCA_SUCCESS; }\n";
    for (code, needed) in [(argp, LIBRARIES[0]), (log, LIBRARIES[1]), (urom, LIBRARIES[2])] {
        program_with(code, &all, &output)?;
        assert_eq!(needed_of_doca(&output)?, [needed]);
        run(Command::new(&output).env("LD_LIBRARY_PATH", prefix()?.library_path()))?;
    }
    Ok(())
}

#[test]
fn a_program_that_lacks_a_library_is_told_of_the_function_that_is_missing() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let output = directory.path().join("program");
    let code = "#include <doca_argp.h>\n#include <doca_pe.h>\n#include <doca_urom.h>\n\
        int main(void)\n{\n\treturn doca_argp_destroy() + doca_pe_destroy(NULL) + doca_urom_worker_destroy(NULL);\n}\n";
    for (libraries, missing) in [
        (["-ldoca_urom", "-ldoca_common"], "doca_argp_destroy"),
        (["-ldoca_argp", "-ldoca_common"], "doca_urom_worker_destroy"),
        // libdoca_common is found through the other two, which does not count.
        (["-ldoca_argp", "-ldoca_urom"], "doca_pe_destroy"),
    ] {
        let said = program_with(code, &libraries, &output).err().context(missing)?.to_string();
        ensure!(said.contains(missing), "{missing}: {said}");
    }
    Ok(())
}

fn compiles(file: &Path, flags: &[String]) -> Result<()> {
    for (name, language) in [("cc", ["-std=c11", "-x", "c"]), ("c++", ["-std=c++17", "-x", "c++"])]
    {
        run(compiler(name).arg("-fsyntax-only").args(language).args(flags).arg(file))?;
    }
    Ok(())
}

/// A program may have a header with the name of one of this project's plugins.
#[test]
fn a_header_of_the_programs_own_is_found_whichever_folder_comes_first() -> Result<()> {
    let directory = tempfile::tempdir()?;
    std::fs::write(directory.path().join("worker_sandbox.h"), "enum { MINE = 0 };\n")?;
    let code = "#include <doca_urom.h>\n#include <worker_sandbox.h>\n#include <urom/worker_graph.h>\n\
                int main(void)\n{\n\treturn MINE;\n}\n";
    let file = directory.path().join("program.c");
    std::fs::write(&file, code)?;
    let prefix = prefix()?;
    let (own, theirs) =
        (format!("-I{}", directory.path().display()), format!("-I{}", prefix.include().display()));
    compiles(&file, &[own.clone(), theirs.clone()])?;
    compiles(&file, &[theirs, own])
}

/// UCX's own lists and sets of CPUs are taken where its headers are, whichever comes first.
#[test]
fn ucx_may_be_included_before_and_after_docas_headers() -> Result<()> {
    let prefix = prefix()?;
    let doca = prefix.pkg_config(&["--cflags"], &["doca-urom"])?;
    let ucx = prefix.pkg_config(&["--cflags"], &["ucx"])?;
    let ucx: Vec<_> = ucx.iter().map(|flag| flag.replacen("-I", "-isystem", 1)).collect();
    let headers = [
        "#include <ucp/api/ucp.h>\n#include <ucs/type/cpu_set.h>\n",
        "#include <doca_urom.h>\n#include <doca_urom_plugin.h>\n",
    ];
    let code = "int use(ucs_list_link_t *list, doca_cpu_set_t *cpus);\n\
        int use(ucs_list_link_t *list, doca_cpu_set_t *cpus)\n{\n\tucs_list_head_init(list);\n\tDOCA_CPU_ZERO(cpus);\n\
        \tDOCA_CPU_SET(3, cpus);\n\treturn doca_cpu_is_set(3, cpus) && ucs_list_is_empty(list);\n}\n";
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("program.c");
    for headers in [headers, [headers[1], headers[0]]] {
        std::fs::write(&file, [headers[0], headers[1], code].concat())?;
        compiles(&file, &[&ucx[..], &doca].concat())?;
        compiles(&file, &[&doca[..], &ucx].concat())?;
    }
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
    std::fs::write(
        &file,
        "#include <doca_pe.h>\nint main(void)\n{\n\treturn doca_pe_create();\n}\n",
    )?;
    let error = Source::new(&file).program().err().context("an argument is missing")?.to_string();
    ensure!(error.contains("mistaken.c:4") && error.contains("too few arguments"), "{error}");
    // What is experimental must be asked for.
    let unasked = Source::new("service_start.c").flag("-UDOCA_ALLOW_EXPERIMENTAL_API");
    let error = unasked.program().err().context("it does not ask")?.to_string();
    ensure!(error.contains("doca_urom_service_create") && error.contains("deprecated"), "{error}");
    Ok(())
}
