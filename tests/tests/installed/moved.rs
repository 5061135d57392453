//! A copied prefix, with or without the build tree.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use urom_tests::c::{DEVICE, Host, Prefix, Service, Source, prefix};
use urom_tests::{PluginDirectory, run};

/// Copies the prefix to a directory whose name needs shell quoting.
fn copy(directory: &Path) -> Result<Prefix> {
    let root = directory.join("a prefix");
    run(Command::new("cp").arg("-a").arg(prefix()?.root()).arg(&root))?;
    Ok(Prefix::at(root))
}

/// Checks that mapped DOCA and UCX files are the prefix's, or that UCX is the system's.
fn come_from<'a>(prefix: &Prefix, mapped: impl Iterator<Item = &'a str>) -> Result<()> {
    let root = fs::canonicalize(prefix.root())?;
    let mut count = 0;
    for file in mapped.map(Path::new) {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let is_ours = ["libdoca", "uromd"].iter().any(|start| name.starts_with(start));
        let is_ucx =
            ["libucp.", "libucs.", "libuct", "libucm"].iter().any(|start| name.starts_with(start));
        let is_systems = is_ucx && !root.join("lib/urom-ucx").exists();
        ensure!(
            !(is_ours || is_ucx) || is_systems || file.starts_with(&root),
            "{} is mapped",
            file.display()
        );
        count += u32::from(is_ours);
    }
    ensure!(count > 0, "the list of files was understood");
    Ok(())
}

#[test]
fn programs_and_daemon_use_nothing_but_the_copy() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let moved = copy(directory.path())?;
    let mut plugins = PluginDirectory::with(&["worker_graph"])?;
    let plugin = Source::new("quiet_plugin.c").against(&moved);
    plugins.add(&plugin.plugin("worker_quiet")?)?;
    let source = Source::new("service_start.c").against(&moved);
    let service = Service::daemon_of(&moved, plugins, |command| command)?;
    let output = Host::new(source.program()?).arg(DEVICE).run(&service)?.success()?;
    for plugin in ["worker_graph", "worker_quiet"] {
        assert!(output.stdout.contains(&format!("plugin {plugin}\n")), "{}", output.stdout);
    }
    come_from(&moved, output.stdout.lines().filter_map(|line| line.strip_prefix("mapped ")))?;

    let graph = |file| Source::new(file).against(&moved);
    let mut plugins = PluginDirectory::with(&[])?;
    plugins.add(&graph("graph_plugin.c").plugin("worker_graph")?)?;
    let workers = Service::daemon_of(&moved, plugins, |command| command)?;
    Host::new(graph("graph_host.c").program()?).arg(DEVICE).run(&workers)?.success()?;

    let pid = service.uromd().context("it is a daemon")?.pid();
    let maps = fs::read_to_string(format!("/proc/{}/maps", pid.as_raw_nonzero()))?;
    come_from(&moved, maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..])))
}
