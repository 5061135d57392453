//! Misbehaving plugins, each beside a good plugin in the same worker.

use std::path::PathBuf;

use anyhow::Result;
use urom_tests::PluginDirectory;
use urom_tests::c::{Host, Service, Source};

fn plugin(defines: &[&str]) -> Source {
    let source = Source::new("trouble_plugin.c").flag("-pthread");
    defines.iter().fold(source, |source, name| source.define(name, ""))
}

fn plugins(trouble: &Source) -> Result<PluginDirectory> {
    let mut plugins = PluginDirectory::with(&["worker_graph"])?;
    plugins.add(&trouble.plugin("worker_trouble")?)?;
    Ok(plugins)
}

fn hosts() -> Result<Vec<PathBuf>> {
    Source::new("trouble_host.c").each_way().iter().map(Source::program).collect()
}

/// For faults that end a process: needs worker processes.
fn at_a_daemon(trouble: &Source, arguments: &[&str]) -> Result<()> {
    let service = Service::daemon(plugins(trouble)?)?;
    for host in hosts()? {
        // One daemon for all runs: it must survive.
        let host = arguments.iter().fold(Host::new(host), Host::arg);
        host.run(&service)?.success()?;
    }
    Ok(())
}

/// For faults that the process survives.
fn everywhere(trouble: &Source, arguments: &[&str]) -> Result<()> {
    at_a_daemon(trouble, arguments)?;
    let service = Service::embedded(plugins(trouble)?)?;
    for host in hosts()? {
        let host = arguments.iter().fold(Host::new(host), Host::arg);
        host.run(&service)?.success()?;
    }
    Ok(())
}

macro_rules! trouble {
    ($($test:ident: $service:ident, [$($define:literal)?], [$($argument:literal),+];)*) => {$(
        #[test]
        fn $test() -> Result<()> {
            $service(&plugin(&[$($define)?]), &[$($argument),+])
        }
    )*};
}

trouble! {
    a_crash_in_a_command_costs_its_worker_only: at_a_daemon, [], ["crash"];
    a_crash_in_progress_costs_its_worker_only: at_a_daemon, [], ["crash-progress"];
    a_crash_while_packing_costs_its_worker_only: at_a_daemon, [], ["crash-pack"];
    a_crash_while_closing_is_not_noticed_by_hosts: at_a_daemon, ["CLOSE_CRASHES"], ["crash-close"];
    a_crash_while_opening_ends_the_start_with_the_cause:
        at_a_daemon, ["OPEN_CRASHES"], ["no-start", "signal"];
    a_plugin_that_fails_to_open_and_leaves_its_state_behind_is_left_alone:
        everywhere, ["OPEN_FAILS"], ["no-start", "`worker_trouble` did not open"];
    a_plugin_without_address_ends_the_start_with_its_code:
        everywhere, ["ADDR_FAILS"], ["no-start", "gave no address"];
    an_address_that_cannot_be_ends_the_start:
        everywhere, ["ADDR_HUGE"], ["no-start", "returned an address of"];
    an_address_that_grows_between_two_calls_is_cut: everywhere, ["ADDR_GROWS"], ["never"];
    commands_without_an_answer_end_when_the_worker_is_stopped: everywhere, [], ["never"];
    second_and_forged_answers_are_discarded: everywhere, [], ["forged"];
    commands_behind_one_that_failed_are_not_lost: everywhere, [], ["undrained"];
    answers_that_cannot_be_packed_or_sent_become_errors: everywhere, [], ["unpackable"];
    look_ups_from_a_plugins_threads_find_all_or_nothing: everywhere, [], ["seek"];
}

#[test]
fn a_plugin_that_blocks_its_worker_ends_no_connection() -> Result<()> {
    let service = Service::daemon(plugins(&plugin(&[]))?)?;
    Host::new(Source::new("trouble_host.c").program()?).arg("slow").run(&service)?.success()?;
    Ok(())
}

#[test]
fn a_plugin_whose_name_is_too_long_is_left_out_and_others_are_served() -> Result<()> {
    let mut plugins = plugins(&plugin(&[]))?;
    plugins.add(&plugin(&[]).plugin(&"x".repeat(63))?)?;
    let service = Service::daemon(plugins)?;
    Host::new(Source::new("trouble_host.c").program()?).arg("names").run(&service)?.success()?;
    Ok(())
}
