//! The program under a real `mpirun`.

mod support;

use std::fs;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use support::{MIB, PROGRAM, has_table, sandbox};
use urom_tests::program::{Ended, LONG, Running, SOON, program};
use urom_tests::{PluginDirectory, Uromd, mpirun};

fn processes(plugins: &PluginDirectory, count: u32, arguments: &[&str]) -> Result<Running> {
    let mut command = mpirun(count, plugins.path());
    command.env("UROM_PLUGIN_PATH", plugins.variable()).arg(PROGRAM).args(arguments);
    Running::start(command)
}

fn play(plugins: &PluginDirectory, arguments: &[&str]) -> Result<Ended> {
    processes(plugins, 2, arguments)?.end(LONG)
}

#[test]
fn a_text_and_a_registered_mebibyte_arrive_on_embedded_services_and_on_uromd() -> Result<()> {
    let plugins = sandbox()?;
    let text = play(&plugins, &["-m", "over PMIx", "-l", "50"])?;
    assert_eq!(text.errors.matches("Sample finished successfully").count(), 2, "{}", text.errors);
    has_table(text, ["PMIx", "10", "inline", "1", "1"]);
    let daemon = Uromd::start_with(plugins.variable(), |command| command.args(["-l", "10"]))?;
    let large = ["--size", MIB, "--registered", "-i", "9", "--service", daemon.address()];
    has_table(play(&plugins, &large)?, ["PMIx", MIB, "registered", "9", "9"]);
    Ok(())
}

#[test]
fn another_number_of_processes_than_two_is_refused() -> Result<()> {
    let plugins = sandbox()?;
    for count in [1, 3] {
        let ended = processes(&plugins, count, &[])?.end(LONG)?;
        ended.failed_saying(&format!("the launcher started {count}: `mpirun -np 2 ping_pong`"));
    }
    Ok(())
}

#[test]
fn a_process_that_was_started_without_mpirun_names_both_ways() -> Result<()> {
    let ended = Running::start(program(PROGRAM, &sandbox()?))?.end(LONG)?;
    ended.failed_saying("start it as `mpirun -np 2 ping_pong`, or with --rendezvous and --rank");
    Ok(())
}

#[test]
fn a_failure_of_one_process_ends_both() -> Result<()> {
    play(&sandbox()?, &["--size", "4001"])?.failed_saying("give --registered");
    Ok(())
}

#[test]
fn mpirun_soon_ends_with_a_failure_when_one_of_the_processes_is_killed() -> Result<()> {
    let plugins = sandbox()?;
    let mut launcher = processes(&plugins, 2, &["-i", "10000000", "-l", "50"])?;
    launcher.says("Client received PONG")?;
    kill_process(player(launcher.pid()?)?.context("mpirun started no process")?, Signal::KILL)?;
    let ended = launcher.end(SOON)?;
    assert_ne!(ended.code, Some(0), "{}", ended.errors);
    Ok(())
}

fn player(launcher: Pid) -> Result<Option<Pid>> {
    for thread in fs::read_dir(format!("/proc/{}/task", launcher.as_raw_nonzero()))? {
        let children = fs::read_to_string(thread?.path().join("children"))?;
        for child in children.split_whitespace() {
            if fs::read_to_string(format!("/proc/{child}/comm"))?.trim() == "ping_pong" {
                return Ok(Pid::from_raw(child.parse()?));
            }
        }
    }
    Ok(None)
}
