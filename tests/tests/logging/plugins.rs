//! Plugins in `uromd` and its workers write to the process's log.

use std::io::Read;

use anyhow::Result;
use urom_host::Service;
use urom_tests::c::{Host, Source, prefix};
use urom_tests::{PluginDirectory, Uromd, c};

use crate::line::{EACH, Line, said};

/// `worker_graph` is a C plugin that only logs.
fn plugins() -> Result<PluginDirectory> {
    let mut plugins = PluginDirectory::with(&["worker_talkative"])?;
    plugins.add(&Source::new("log_plugin.c").plugin("worker_graph")?)?;
    Ok(plugins)
}

/// Runs `work` with a daemon of this log level and worker 7; returns the plugins' lines.
pub(crate) fn logged(level: &str, work: impl FnOnce(&Service) -> Result<()>) -> Result<Vec<Line>> {
    let plugins = plugins()?;
    let mut log = tempfile::NamedTempFile::new()?;
    let stderr = log.reopen()?;
    let library_path = prefix()?.library_path();
    let uromd = Uromd::start_with(plugins.variable(), |command| {
        command.args(["-l", level]).env("LD_LIBRARY_PATH", library_path).stderr(stderr)
    })?;
    work(&Service::builder().address(uromd.address()).connect_blocking()?)?;
    assert!(uromd.stop()?.success());
    let mut text = String::new();
    log.as_file_mut().read_to_string(&mut text)?;
    Ok(Line::of_service(&text))
}

/// Lines of one source, `worker 7` or `uromd`, from a file.
fn of<'a>(lines: &'a [Line], name: &str, file: &str) -> Vec<(&'a str, &'a str)> {
    let location = format!("{file}:");
    said(lines)
        .into_iter()
        .zip(lines)
        .filter_map(|(said, line)| {
            (line.name == name && line.location.starts_with(&location)).then_some(said)
        })
        .collect()
}

#[test]
fn a_plugin_in_c_logs_as_its_worker_at_the_level_of_the_program() -> Result<()> {
    for (level, count) in
        [("70", 6), ("60", 5), ("50", 4), ("45", 3), ("30", 2), ("20", 1), ("10", 0)]
    {
        let lines = logged(level, |service| {
            let graph = service.plugin::<graph_protocol::Protocol>()?;
            service.worker().id(7).plugin(&graph).start().wait()?;
            Ok(())
        })?;
        let loaded = [("WRN", "loaded, as source of its own")];
        let loaded = if level >= "40" { &loaded[..] } else { &[] };
        let in_worker = of(&lines, "worker 7", "log_plugin.c");
        assert_eq!(in_worker, [loaded, &EACH[..count]].concat(), "{level}: {lines:?}");
        // The daemon does not load this plugin.
        assert_eq!(of(&lines, "uromd", "log_plugin.c"), [], "{level}: {lines:?}");
        let functions: Vec<_> =
            lines.iter().filter(|line| line.level == "CRT").map(|line| &line.function).collect();
        assert!(functions.iter().all(|function| *function == "plugin_open"), "{functions:?}");
    }
    Ok(())
}

#[test]
fn a_plugin_in_c_of_an_embedded_service_logs_with_the_program() -> Result<()> {
    let service = c::Service::embedded(plugins()?)?;
    for source in Source::new("service_start.c").each_way() {
        let output = Host::new(source.program()?).arg(c::DEVICE).run(&service)?.success()?;
        let lines = Line::all(&output.stderr)?;
        assert_eq!(of(&lines, "DOCA", "log_plugin.c"), [("WRN", "loaded, as source of its own")]);
    }
    Ok(())
}
