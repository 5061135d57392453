//! `participants/fork.rs` with each library.

use std::path::PathBuf;

use anyhow::Result;
use urom_tests::c::{Host, Service};
use urom_tests::{PluginDirectory, built, doca_library, plain_doca_library};

/// With the built-in library, the same library loaded, and a library without extensions, which only
/// connects to daemons.
fn everywhere(what: &str) -> Result<()> {
    over(what, "all")
}

fn over(what: &str, transports: &str) -> Result<()> {
    let plugins = || PluginDirectory::with(&["worker_graph"]);
    let directory = tempfile::tempdir()?;
    let (builtin, loaded) = (PathBuf::from("builtin"), doca_library()?);
    let plain = plain_doca_library(directory.path())?;
    let (daemon, embedded) = (Service::daemon(plugins()?)?, Service::embedded(plugins()?)?);
    for (service, library) in [
        (&daemon, &builtin),
        (&daemon, &loaded),
        (&daemon, &plain),
        (&embedded, &builtin),
        (&embedded, &loaded),
    ] {
        let host = Host::new(built("examples/forking_host")?).arg(what);
        let host = host.env("UROM_DOCA_LIBRARY", library).env("UCX_TLS", transports);
        host.run(service)?.success()?;
    }
    Ok(())
}

#[test]
fn a_child_s_calls_fail_at_once_and_take_no_answer_of_its_parent() -> Result<()> {
    everywhere("commands")
}

#[test]
fn a_child_drops_what_it_inherits_at_once_and_its_parent_goes_on() -> Result<()> {
    everywhere("drops")
}

#[test]
fn memory_and_counters_are_refused_in_a_child_which_may_open_them() -> Result<()> {
    everywhere("memory")
}

#[test]
fn a_child_that_connects_works_beside_its_parent() -> Result<()> {
    everywhere("anew")
}

#[test]
fn a_child_accepts_connections_that_its_parent_s_threads_would_accept() -> Result<()> {
    over("anew", "tcp")
}

#[test]
fn a_program_may_fork_while_its_threads_are_busy() -> Result<()> {
    everywhere("threads")
}

#[test]
fn children_of_a_prefork_server_connect_and_serve() -> Result<()> {
    everywhere("prefork")
}

#[test]
fn a_daemon_connects_after_it_became_one() -> Result<()> {
    everywhere("daemon")
}

#[test]
fn children_with_programs_of_their_own_are_harmless() -> Result<()> {
    everywhere("programs")
}
