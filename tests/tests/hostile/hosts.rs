//! Hosts that misuse the library, and hosts that rely on its contract.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use urom_tests::PluginDirectory;
use urom_tests::c::{Host, Output, Service, Source, prefix};

fn services() -> Result<[Service; 2]> {
    let plugins = || PluginDirectory::with(&["worker_graph"]);
    Ok([Service::daemon(plugins()?)?, Service::embedded(plugins()?)?])
}

/// Runs a program plain and sanitized, with a daemon and embedded.
fn everywhere(source: &str, run: impl Fn(Host, &Service) -> Result<Output>) -> Result<()> {
    for source in Source::new(source).each_way() {
        let program = source.program()?;
        for service in services()? {
            run(Host::new(&program), &service)?.success()?;
        }
    }
    Ok(())
}

fn exported() -> Result<BTreeSet<String>> {
    let libraries = ["argp", "common", "urom"].map(|library| format!("libdoca_{library}.so"));
    let mut command = Command::new("nm");
    command.current_dir(prefix()?.lib()).args(["-D", "--defined-only"]).args(libraries);
    let symbols = urom_tests::run(&mut command)?;
    let names = symbols.lines().filter_map(|line| line.split_whitespace().nth(2));
    Ok(names.map(str::to_owned).collect())
}

#[test]
fn every_function_reports_the_error_of_a_call() -> Result<()> {
    everywhere("every_function.c", |host, service| host.run(service))
}

#[test]
fn no_function_is_left_out() -> Result<()> {
    let [_, service] = services()?;
    let output = Host::new(Source::new("every_function.c").program()?)
        .arg("--names")
        .run(&service)?
        .success()?;
    let (_, names) =
        output.stdout.split_once("names:\n").context("the program does not name functions")?;
    let called: BTreeSet<String> = names.lines().map(str::to_owned).collect();
    let exported = exported()?;
    ensure!(exported.len() > 100, "nm lists {} symbols only", exported.len());
    let missing: Vec<_> = exported.difference(&called).collect();
    ensure!(
        missing.is_empty(),
        "exported, and not called by tests/c/every_function.c: {missing:?}"
    );
    let unknown: Vec<_> = called.difference(&exported).collect();
    ensure!(
        unknown.is_empty(),
        "called by tests/c/every_function.c, and not exported: {unknown:?}"
    );
    Ok(())
}

#[test]
fn a_wrong_order_gives_errors_and_everything_goes_on() -> Result<()> {
    everywhere("wrong_order.c", |host, service| host.run(service))
}

#[test]
fn exchanges_may_end_their_own_domain() -> Result<()> {
    everywhere("wrong_order.c", |host, service| {
        // The library keeps the memory of a cancelled request, because it may still be written.
        host.arg("exchanges").leaving_memory().run(service)
    })
}

#[test]
fn loops_that_trust_progress_blindly_see_what_they_trust_in() -> Result<()> {
    everywhere("progress_contract.c", |host, service| host.run(service))
}

#[test]
fn a_child_that_exits_waits_for_no_thread_of_its_parent() -> Result<()> {
    // Without the address sanitizer: its allocator may hold locks at the fork.
    let program = Source::new("forked_exit.c").program()?;
    for service in services()? {
        // A child lacks the parent's threads, so their memory looks leaked.
        Host::new(&program).leaving_memory().run(&service)?.success()?;
    }
    Ok(())
}

#[test]
fn threads_of_the_library_leave_signals_to_the_program() -> Result<()> {
    everywhere("library_threads.c", |host, service| host.run(service))
}

#[test]
fn a_host_may_leave_without_cleaning_up() -> Result<()> {
    for how in ["", "exit", "stopping", "starting"] {
        everywhere("walk_away.c", |host, service| host.arg(how).leaving_memory().run(service))?;
    }
    Ok(())
}

#[test]
fn a_daemon_serves_the_next_host_after_one_that_just_left() -> Result<()> {
    let [service, _] = services()?;
    let rude = Host::new(Source::new("walk_away.c").program()?).leaving_memory();
    for how in ["", "exit", "stopping", "starting", ""] {
        rude.clone().arg(how).run(&service)?.success()?;
    }
    Host::new(Source::new("progress_contract.c").program()?).run(&service)?.success()?;
    Ok(())
}
