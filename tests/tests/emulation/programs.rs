//! Whole programs: plugins in C, and their hosts, with a daemon and embedded.

use anyhow::Result;
use urom_tests::PluginDirectory;
use urom_tests::c::{Service, Source};

use crate::{count, preloaded};

fn plugins() -> Result<PluginDirectory> {
    let mut plugins = PluginDirectory::with(&[])?;
    plugins.add(&Source::new("rdmo_plugin.c").ucx().plugin("worker_rdmo")?)?;
    Ok(plugins)
}

/// A daemon whose workers emulate.
fn daemon() -> Result<Service> {
    Service::daemon_with(plugins()?, |command| command.arg("--emulate-exported-memory"))
}

const RDMO: &str = "\
client initialized
queue 0
memory registered
appended
scattered
appended by rendezvous
destroyed
";

fn rdmo(service: &Service) -> Result<()> {
    let app = preloaded(&Source::new("rdmo_app.c").ucx(), &[])?;
    let output = app.run(service)?.success()?;
    assert_eq!(said(&output.stdout), RDMO, "{}", output.stderr);
    Ok(())
}

/// Without what DOCA's interface shows.
fn said(stdout: &str) -> String {
    stdout.lines().filter(|line| !line.starts_with("C: ")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn rdmo_appends_and_scatters_with_a_daemon() -> Result<()> {
    rdmo(&daemon()?)
}

#[test]
fn rdmo_appends_and_scatters_embedded() -> Result<()> {
    rdmo(&Service::embedded(plugins()?)?)
}

#[test]
fn rdmo_does_without_a_handle() -> Result<()> {
    // The queue's block is not in the arena.
    let app = preloaded(&Source::new("rdmo_app.c").ucx(), &["unsupported"])?
        .env("UROM_EMULATION_THRESHOLD", "1000000");
    let output = app.run(&daemon()?)?.success()?;
    assert_eq!(said(&output.stdout), RDMO.replace("appended by rendezvous\n", ""));
    assert_eq!(count(&output.stderr, "ucp_memh_pack: the 131072 bytes at 0x"), 1);
    Ok(())
}
