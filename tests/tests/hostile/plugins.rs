//! Plugins that get everything wrong, each beside a good one in the same worker.

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

/// Trouble that costs a process: only where workers have their own.
fn at_a_daemon(trouble: &Source, arguments: &[&str]) -> Result<()> {
    let service = Service::daemon(plugins(trouble)?)?;
    for host in hosts()? {
        // The same daemon each time: it has to go on.
        let host = arguments.iter().fold(Host::new(host), Host::arg);
        host.run(&service)?.success()?;
    }
    Ok(())
}

/// Trouble that everybody survives.
fn everywhere(trouble: &Source, arguments: &[&str]) -> Result<()> {
    at_a_daemon(trouble, arguments)?;
    let service = Service::embedded(plugins(trouble)?)?;
    for host in hosts()? {
        let host = arguments.iter().fold(Host::new(host), Host::arg);
        host.run(&service)?.success()?;
    }
    Ok(())
}

#[test]
fn a_crash_in_a_command_costs_its_worker_only() -> Result<()> {
    at_a_daemon(&plugin(&[]), &["crash"])
}

#[test]
fn a_crash_in_progress_costs_its_worker_only() -> Result<()> {
    at_a_daemon(&plugin(&[]), &["crash-progress"])
}

#[test]
fn a_crash_while_packing_costs_its_worker_only() -> Result<()> {
    at_a_daemon(&plugin(&[]), &["crash-pack"])
}

#[test]
fn a_crash_while_closing_is_not_noticed_by_hosts() -> Result<()> {
    at_a_daemon(&plugin(&["CLOSE_CRASHES"]), &["crash-close"])
}

#[test]
fn a_crash_while_opening_ends_the_start_with_the_cause() -> Result<()> {
    at_a_daemon(&plugin(&["OPEN_CRASHES"]), &["no-start", "signal"])
}

#[test]
fn a_plugin_that_fails_to_open_and_leaves_its_state_behind_is_left_alone() -> Result<()> {
    everywhere(&plugin(&["OPEN_FAILS"]), &["no-start", "`worker_trouble` did not open"])
}

#[test]
fn a_plugin_without_address_ends_the_start_with_its_code() -> Result<()> {
    everywhere(&plugin(&["ADDR_FAILS"]), &["no-start", "gave no address"])
}

#[test]
fn an_address_that_cannot_be_ends_the_start() -> Result<()> {
    everywhere(&plugin(&["ADDR_HUGE"]), &["no-start", "says its address has"])
}

#[test]
fn an_address_that_grows_between_two_calls_is_cut() -> Result<()> {
    everywhere(&plugin(&["ADDR_GROWS"]), &["never"])
}

#[test]
fn commands_without_an_answer_end_when_the_worker_is_stopped() -> Result<()> {
    everywhere(&plugin(&[]), &["never"])
}

#[test]
fn second_and_forged_answers_reach_nobody() -> Result<()> {
    everywhere(&plugin(&[]), &["forged"])
}

#[test]
fn commands_behind_one_that_failed_are_not_lost() -> Result<()> {
    everywhere(&plugin(&[]), &["undrained"])
}

#[test]
fn answers_that_cannot_be_packed_or_sent_become_errors() -> Result<()> {
    everywhere(&plugin(&[]), &["unpackable"])
}

#[test]
fn a_plugin_that_blocks_its_worker_makes_nobody_give_up() -> Result<()> {
    let service = Service::daemon(plugins(&plugin(&[]))?)?;
    Host::new(Source::new("trouble_host.c").program()?).arg("slow").run(&service)?.success()?;
    Ok(())
}

#[test]
fn look_ups_from_a_plugins_threads_find_all_or_nothing() -> Result<()> {
    everywhere(&plugin(&[]), &["seek"])
}

#[test]
fn a_plugin_whose_name_is_too_long_is_left_out_and_others_are_served() -> Result<()> {
    let mut plugins = plugins(&plugin(&[]))?;
    plugins.add(&plugin(&[]).plugin(&"x".repeat(63))?)?;
    let service = Service::daemon(plugins)?;
    Host::new(Source::new("trouble_host.c").program()?).arg("names").run(&service)?.success()?;
    Ok(())
}
