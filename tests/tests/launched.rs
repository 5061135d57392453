//! Launched programs: PMIx under a real `mpirun`, a rendezvous by variables, and faulty launchers.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use urom_tests::{doca_library, mpirun, profile_directory};

fn program() -> Result<Command> {
    let mut command = Command::new(profile_directory()?.join("examples/launched_participant"));
    command.env_remove("UROM_DOCA_LIBRARY");
    Ok(command)
}

fn launched(participants: u32, library: Option<&Path>) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let mut command = mpirun(participants, directory.path());
    command.envs(library.map(|library| ("UROM_DOCA_LIBRARY", library)));
    let output = urom_tests::run(command.arg(program()?.get_program()))?;
    assert_eq!(output.matches("launched: ok").count(), participants as usize, "{output}");
    Ok(())
}

#[test]
fn one_two_and_four_processes_of_mpirun_form_domain_after_domain() -> Result<()> {
    [1, 2, 4].into_iter().try_for_each(|participants| launched(participants, None))
}

#[test]
fn two_processes_form_a_domain_through_a_library_that_is_loaded() -> Result<()> {
    launched(2, Some(&doca_library()?))
}

fn fails(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    assert!(!output.status.success(), "{command:?} succeeds");
    Ok(String::from_utf8(output.stderr)?)
}

#[test]
fn a_rank_that_never_comes_is_named_within_the_programs_own_timeout() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let mut command = mpirun(3, directory.path());
    command.arg(program()?.get_program()).args(["absent=1", "seconds=2"]);
    let errors = fails(&mut command)?;
    assert!(errors.contains("not all 3 participants came"), "{errors}");
    assert!(errors.contains("missing 1"), "{errors}");
    Ok(())
}

#[test]
fn ranks_of_two_jobs_at_once_meet_those_of_their_own() -> Result<()> {
    std::thread::scope(|scope| {
        let jobs = [(); 2].map(|()| scope.spawn(|| launched(2, None)));
        jobs.into_iter().try_for_each(|job| job.join().expect("a job panicked"))
    })
}

/// Kills a launcher once its two processes run; the waiting process must time out by itself.
#[test]
fn a_process_ends_though_its_launcher_dies_in_the_middle() -> Result<()> {
    for absent in [0, 1] {
        let directory = tempfile::tempdir()?;
        let mut command = mpirun(2, directory.path());
        command.arg(program()?.get_program()).args([&format!("absent={absent}"), "seconds=2"]);
        let mut launcher = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let lines = BufReader::new(launcher.stdout.take().expect("piped")).lines().take(2);
        let processes = lines.map(|line| {
            let line = line?;
            let process = line.strip_prefix("process ").and_then(|process| process.parse().ok());
            let process =
                process.and_then(Pid::from_raw).with_context(|| format!("no process: {line}"))?;
            Ok(pidfd_open(process, PidfdFlags::empty())?)
        });
        let processes = processes.collect::<Result<Vec<_>>>()?;
        launcher.kill()?;
        launcher.wait()?;
        // The absent process stays. Orphans of the launcher are not this test's children, hence the
        // pidfds.
        let mut handles: Vec<_> =
            processes.iter().map(|process| PollFd::new(process, PollFlags::IN)).collect();
        let limit = Timespec { tv_sec: 30, tv_nsec: 0 };
        let ended = poll(&mut handles, Some(&limit))?;
        for process in &processes {
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
        assert!(ended > 0, "without rank {absent} and the launcher the other process stays");
    }
    Ok(())
}

#[test]
fn the_error_without_a_launcher_names_the_searched_variables() -> Result<()> {
    let errors = fails(&mut program()?)?;
    for name in ["PMIX_NAMESPACE", "PMIX_RANK", "UROM_RENDEZVOUS", "UROM_RANK", "UROM_SIZE"] {
        assert!(errors.contains(name), "{name}: {errors}");
    }
    Ok(())
}

#[test]
fn variables_of_a_launcher_without_a_server_are_an_error_at_once() -> Result<()> {
    let errors = fails(program()?.env("PMIX_NAMESPACE", "job").env("PMIX_RANK", "0"))?;
    assert!(errors.contains("PMIx server does not answer"), "{errors}");
    assert!(errors.contains("-25"), "{errors}");
    Ok(())
}

#[test]
fn a_libpmix_that_cannot_be_loaded_is_an_error_with_the_reason() -> Result<()> {
    let directory = tempfile::tempdir()?;
    fs::write(directory.path().join("libpmix.so.2"), "not a library")?;
    let mut command = program()?;
    command.env("PMIX_NAMESPACE", "job").env("PMIX_RANK", "0");
    command.env("LD_LIBRARY_PATH", directory.path());
    let errors = fails(&mut command)?;
    assert!(errors.contains("libpmix.so.2: file too short"), "{errors}");
    Ok(())
}

#[test]
fn a_libpmix_that_is_too_old_is_an_error_with_the_function_that_it_lacks() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let (source, library) = (directory.path().join("old.c"), directory.path().join("libpmix.so.2"));
    // `PMIx_Value_destruct` came with PMIx 4.2.
    let older = ["Init", "Get", "Put", "Commit", "Finalize", "Error_string"];
    let functions = older.map(|name| format!("int PMIx_{name}(void) {{ return -1; }}\n"));
    fs::write(&source, functions.concat())?;
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).args([&library, &source]);
    assert!(compiler.status()?.success());
    let mut command = program()?;
    command.env("PMIX_NAMESPACE", "job").env("PMIX_RANK", "0");
    command.env("LD_LIBRARY_PATH", directory.path());
    let errors = fails(&mut command)?;
    for part in ["libpmix.so.2", "PMIx_Value_destruct", "PMIx 4.2"] {
        assert!(errors.contains(part), "{part}: {errors}");
    }
    Ok(())
}

#[test]
fn variables_of_a_rendezvous_that_are_wrong_are_named() -> Result<()> {
    let command = || -> Result<Command> {
        let mut command = program()?;
        command.env("UROM_RENDEZVOUS", "127.0.0.1:1");
        Ok(command)
    };
    assert!(fails(&mut command()?)?.contains("UROM_RANK must be a number; it is not set"));
    let errors = fails(command()?.env("UROM_RANK", "0").env("UROM_SIZE", "two"))?;
    assert!(errors.contains("UROM_SIZE must be a number; it is `two`"), "{errors}");
    Ok(())
}
