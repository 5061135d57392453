//! C plugins and their hosts, with a daemon and embedded.

use std::fs::{self, File};
use std::process::Command;

use anyhow::Result;
use urom_tests::c::{Service, Source, prefix};
use urom_tests::{PluginDirectory, copy_program};

use crate::{EMULATED, count, preloaded};

fn plugins() -> Result<PluginDirectory> {
    let mut plugins = PluginDirectory::with(&[])?;
    plugins.add(&Source::new("rdmo_plugin.c").ucx().plugin("worker_rdmo")?)?;
    let source = Source::new("allreduce_plugin.c").ucx().flag("-pthread");
    plugins.add(&source.plugin("libucc_doca_urom_plugin")?)?;
    Ok(plugins)
}

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

fn said(stdout: &str) -> String {
    stdout.lines().filter(|line| !line.starts_with("C: ")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn rdmo_appends_and_scatters_with_a_daemon() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let log = directory.path().join("log");
    let file = File::create(&log)?;
    let service = Service::daemon_with(plugins()?, |command| {
        command.arg("--emulate-exported-memory").stderr(file)
    })?;
    rdmo(&service)?;
    let log = fs::read_to_string(log)?;
    assert_eq!(count(&log, EMULATED), 1, "its worker logs it: {log}");
    assert_eq!(count(&log, "no memory is imported"), 0, "{log}");
    Ok(())
}

#[test]
fn rdmo_appends_and_scatters_embedded() -> Result<()> {
    rdmo(&Service::embedded(plugins()?)?)
}

#[test]
fn rdmo_does_without_a_handle() -> Result<()> {
    // A threshold that keeps the queue's block out of the arena.
    let app = preloaded(&Source::new("rdmo_app.c").ucx(), &["unsupported"])?
        .env("UROM_EMULATION_THRESHOLD", "1000000");
    let output = app.run(&daemon()?)?.success()?;
    assert_eq!(said(&output.stdout), RDMO.replace("appended by rendezvous\n", ""));
    assert_eq!(count(&output.stderr, "ucp_memh_pack: the 131072 bytes at 0x"), 1);
    Ok(())
}

fn allreduce(service: &Service, ranks: u32) -> Result<()> {
    let host = preloaded(&Source::new("allreduce_host.c").ucx(), &[&ranks.to_string()])?;
    let output = host.run(service)?.success()?;
    let counts = [1, 2, 3, 1000, 4096, 65536, 1 << 20].map(|count| format!("{count} ints\n"));
    let expected = format!("domain of {ranks} ranks\n{}done\n", counts.concat());
    assert_eq!(said(&output.stdout), expected, "{}", output.stderr);
    Ok(())
}

#[test]
fn two_ranks_sum_with_a_daemon() -> Result<()> {
    allreduce(&daemon()?, 2)
}

#[test]
fn four_ranks_sum_with_a_daemon() -> Result<()> {
    allreduce(&daemon()?, 4)
}

#[test]
fn two_ranks_sum_embedded() -> Result<()> {
    allreduce(&Service::embedded(plugins()?)?, 2)
}

#[test]
fn a_worker_emulates_only_with_the_option_of_its_daemon() -> Result<()> {
    let app = preloaded(&Source::new("rdmo_app.c").ucx(), &[])?;
    let output = app.run(&Service::daemon(plugins()?)?)?;
    assert!(!output.status.success());
    // UCX does not find a transport for a context with exported memory.
    assert_eq!(count(&output.stderr, "call.result gave DOCA_ERROR_DRIVER"), 1, "{}", output.stderr);
    Ok(())
}

#[test]
fn a_daemon_without_the_library_names_its_source() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let uromd = directory.path().join("uromd");
    copy_program(&prefix()?.uromd(), &uromd)?;
    let output = Command::new(uromd)
        .args(["--listen", "127.0.0.1:0", "--emulate-exported-memory"])
        .output()?;
    let log = String::from_utf8(output.stderr)?;
    assert!(!output.status.success() && output.stdout.is_empty());
    for part in ["needs liburom_ucx_emulation.so", "cargo xtask install --prefix DIR"] {
        assert_eq!(count(&log, part), 1, "{log}");
    }
    Ok(())
}
