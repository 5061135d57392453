//! Programs and plugins compiled against the prefix, and how the loader resolves them.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use urom_tests::PluginDirectory;
use urom_tests::c::{DEVICE, Host, Output, Service, Source, prefix};

fn service_start() -> Source {
    Source::new("service_start.c")
}

fn plugins() -> Result<PluginDirectory> {
    let mut plugins = PluginDirectory::with(&["worker_graph"])?;
    plugins.add(&Source::new("quiet_plugin.c").plugin("worker_quiet")?)?;
    Ok(plugins)
}

fn lines<'a>(output: &'a Output, word: &str) -> Vec<&'a str> {
    let mut found: Vec<_> = output
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix(word)?.strip_prefix(' '))
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[test]
fn a_program_in_c_finds_plugins_of_both_languages_in_both_services() -> Result<()> {
    for asan in [false, true] {
        let source = if asan { service_start().asan() } else { service_start() };
        let host = Host::new(source.program()?).arg(DEVICE);
        for service in [Service::daemon(plugins()?)?, Service::embedded(plugins()?)?] {
            let output = host.run(&service)?.success()?;
            assert_eq!(lines(&output, "plugin"), ["worker_graph", "worker_quiet"]);
        }
    }
    Ok(())
}

#[test]
fn a_program_that_fails_shows_why() -> Result<()> {
    let service = Service::embedded(plugins()?)?;
    let output = Host::new(service_start().program()?).arg("no_such_device").run(&service)?;
    let error = output.success().err().context("there is no such device")?.to_string();
    ensure!(error.contains("exit status: 1") && error.contains("no such device"), "{error}");
    Ok(())
}

#[test]
fn a_program_has_each_of_the_libraries_once() -> Result<()> {
    let service = Service::embedded(plugins()?)?;
    let program = service_start().flag("-Wl,--no-as-needed").program()?;
    let output = Host::new(program).arg(DEVICE).run(&service)?.success()?;
    let mut files = lines(&output, "mapped");
    files.retain(|file| file.contains("doca"));
    let names: Vec<_> = files.iter().filter_map(|file| file.rsplit('/').next()).collect();
    let filters = ["argp", "common", "urom"].map(|name| format!("libdoca_{name}.so.2.7.0"));
    assert_eq!(names, [&filters[..], &["liburom_doca.so".to_owned()]].concat());
    Ok(())
}

#[test]
fn a_program_that_calls_ucx_runs_with_that_of_the_library() -> Result<()> {
    let service = Service::embedded(plugins()?)?;
    let output =
        Host::new(Source::new("ucx_version.c").ucx().program()?).run(&service)?.success()?;
    let version = ucx::version();
    assert_eq!(output.stdout, format!("ucx {version}\n"));
    Ok(())
}

#[test]
fn a_program_that_hangs_is_killed_and_shows_what_it_said() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("hangs.c");
    // The program's child keeps its output open.
    let text = "#include <stdio.h>\n#include <unistd.h>\n\
                int main(void)\n{\n\tputs(\"so far\");\n\tfflush(stdout);\n\tfork();\n\tpause();\n\treturn 0;\n}\n";
    std::fs::write(&file, text)?;
    let service = Service::embedded(plugins()?)?;
    let host = Host::new(Source::new(&file).program()?).limit(Duration::from_secs(2));
    let error = host.run(&service).err().context("it never ends")?.to_string();
    ensure!(error.contains("did not end within 2s") && error.contains("so far\n"), "{error}");
    Ok(())
}

#[test]
fn a_mistake_that_the_sanitizer_finds_is_no_success() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("reads.c");
    let text = "#include <stdlib.h>\n\
                int main(int argc, char **argv)\n{\n\t(void)argv;\n\tvolatile char *bytes = calloc(1, 1);\n\
                \treturn bytes[argc] & 0;\n}\n";
    std::fs::write(&file, text)?;
    let service = Service::embedded(plugins()?)?;
    let output = Host::new(Source::new(&file).asan().program()?).run(&service)?;
    let error = output.success().err().context("it reads what is not its own")?.to_string();
    ensure!(error.contains("heap-buffer-overflow"), "{error}");
    Ok(())
}

#[test]
fn a_daemon_loads_plugins_that_were_built_with_the_sanitizer() -> Result<()> {
    let mut plugins = PluginDirectory::with(&["worker_graph"])?;
    let source = Source::new("quiet_plugin.c").asan();
    plugins.add(&source.plugin("worker_quiet")?)?;
    let service = Service::sanitized(plugins)?;
    let output = Host::new(service_start().program()?).arg(DEVICE).run(&service)?.success()?;
    assert_eq!(lines(&output, "plugin"), ["worker_graph", "worker_quiet"]);
    Ok(())
}

#[test]
fn a_program_registers_a_log_source_before_it_begins() -> Result<()> {
    let service = Service::embedded(plugins()?)?;
    for source in [Source::new("log_source.c"), Source::new("log_source.c").asan()] {
        let output = Host::new(source.program()?).run(&service)?.success()?;
        let line = output.stdout + &output.stderr;
        for part in ["[DOCA][INF][log_source.c:", "a progress engine came and went: DOCA_SUCCESS"] {
            ensure!(line.contains(part), "{line}");
        }
    }
    Ok(())
}

#[test]
fn a_program_that_closes_the_library_leaves_its_threads_their_code() -> Result<()> {
    let library = prefix()?.lib().join("libdoca_urom.so.2");
    let program = Source::new("load_and_close.c").flag("-Wl,--as-needed").program()?;
    let host = Host::new(program).arg(library.to_str().context("a path in UTF-8")?);
    host.run(&Service::embedded(plugins()?)?)?.success()?;
    Ok(())
}
