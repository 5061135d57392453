//! The short form of every suite.

use anyhow::Result;
use urom_faults::{Extent, Length, SUITES, seed_from};

fn short(name: &str) -> Result<()> {
    let suite = SUITES.iter().find(|suite| suite.name == name).expect("a suite of this name");
    let extent =
        Extent { length: Length::Short, rounds: None, commands: None, seed: seed_from(None)? };
    let outcome = suite.run(&extent)?;
    println!("{name}: {outcome:?}");
    outcome.check(suite)
}

#[test]
fn whatever_dies_or_stops_the_rest_learns_why_and_goes_on() -> Result<()> {
    short("chaos")
}

#[test]
fn a_link_that_is_cut_is_noticed_and_one_that_is_slow_is_not_taken_for_it() -> Result<()> {
    short("network")
}

#[test]
fn a_throng_is_let_in_and_nobody_at_work_notices() -> Result<()> {
    short("throng")
}

#[test]
fn nothing_stalls_the_daemon() -> Result<()> {
    short("stalls")
}

#[test]
fn however_many_hosts_died_the_next_needs_no_more_memory() -> Result<()> {
    short("turnover")
}

#[test]
fn many_workers_plugins_and_hosts_are_served_at_a_time() -> Result<()> {
    short("scale")
}

#[test]
fn however_many_commands_there_were_the_next_needs_no_more_memory() -> Result<()> {
    short("endurance")
}

#[test]
fn a_plugin_that_misbehaves_is_the_trouble_of_its_worker_alone() -> Result<()> {
    short("plugins")
}

#[test]
fn a_host_that_floods_or_reads_nothing_keeps_nobody_else_waiting() -> Result<()> {
    short("hosts")
}
