//! The program under a real `mpirun`.

mod support;

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};
use rustix::process::Pid;
use support::{Ended, LONG, PROGRAM, Running, SOON, command, kill, sandbox};
use urom_tests::{MPI_DIRECTORY, PluginDirectory, Uromd};

const MIB: &str = "1048576";

fn mpirun(plugins: &PluginDirectory, processes: u32, arguments: &[&str]) -> Command {
    let mut command = command("mpirun", plugins);
    command.env(MPI_DIRECTORY, plugins.path());
    command.args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]);
    command.args(["-np", &processes.to_string(), PROGRAM]).args(arguments);
    command
}

fn play(plugins: &PluginDirectory, arguments: &[&str]) -> Result<Ended> {
    Running::start(mpirun(plugins, 2, arguments))?.end(LONG)
}

#[test]
fn a_text_one_byte_4000_inline_and_a_registered_mebibyte_arrive_on_embedded_services_and_on_uromd()
-> Result<()> {
    let plugins = sandbox()?;
    let daemon = Uromd::start_with(plugins.variable(), |command| command.args(["-l", "10"]))?;
    let (embedded, common): (&[&str], &[&str]) = (&[], &["--service", daemon.address()]);
    for service in [embedded, common] {
        let play = |arguments: &[&str]| play(&plugins, &[service, arguments].concat());
        let text = play(&["-m", "over PMIx", "-l", "50"])?;
        text.has_table(["PMIx", "10", "inline", "1", "1"]);
        for line in
            ["Server completed PING recv: over PMIx", "Client received PONG recv: over PMIx"]
        {
            assert!(text.errors.contains(line), "{}", text.errors);
        }
        assert_eq!(
            text.errors.matches("Sample finished successfully").count(),
            2,
            "{}",
            text.errors
        );
        play(&["--size", "1", "-i", "300"])?.has_table(["PMIx", "1", "inline", "300", "270"]);
        play(&["--size", "4000", "-i", "300"])?.has_table(["PMIx", "4000", "inline", "300", "270"]);
        let large = play(&["--size", MIB, "--registered", "-i", "9"])?;
        large.has_table(["PMIx", MIB, "registered", "9", "9"]);
    }
    Ok(())
}

#[test]
fn another_number_of_processes_than_two_is_refused() -> Result<()> {
    let plugins = sandbox()?;
    for processes in [1, 3] {
        let ended = Running::start(mpirun(&plugins, processes, &[]))?.end(LONG)?;
        ended.failed_saying(&format!("the launcher started {processes}: `mpirun -np 2 ping_pong`"));
    }
    Ok(())
}

#[test]
fn a_process_that_was_started_without_mpirun_is_told_of_both_ways() -> Result<()> {
    let ended = Running::start(command(PROGRAM, &sandbox()?))?.end(LONG)?;
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
    let mut launcher = Running::start(mpirun(&plugins, 2, &["-i", "10000000", "-l", "50"]))?;
    launcher.says("Client received PONG")?;
    kill(player(launcher.pid()?)?.context("mpirun started nobody")?)?;
    let ended = launcher.end(SOON)?;
    assert_ne!(ended.code, Some(0), "{}", ended.errors);
    Ok(())
}

/// One of the processes that `launcher` started.
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
