//! Programs and plugins compiled against the prefix, and what the loader makes of them.

use anyhow::{Context, Result, ensure};
use urom_tests::PluginDirectory;
use urom_tests::c::{DEVICE, Host, Output, Service, Source};

const EXPERIMENTAL: &str = "DOCA_ALLOW_EXPERIMENTAL_API";

fn service_start() -> Source {
    Source::new("service_start.c").define(EXPERIMENTAL, "")
}

fn plugins() -> Result<PluginDirectory> {
    let mut plugins = PluginDirectory::with(&["worker_graph"])?;
    plugins.add(&Source::new("quiet_plugin.c").define(EXPERIMENTAL, "").plugin("worker_quiet")?)?;
    Ok(plugins)
}

fn lines<'a>(output: &'a Output, word: &str) -> Vec<&'a str> {
    let mut found: Vec<_> =
        output.stdout.lines().filter_map(|line| line.strip_prefix(word)?.strip_prefix(' ')).collect();
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
