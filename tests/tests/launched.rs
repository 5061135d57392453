//! Programs that a launcher started: PMIx under a real `mpirun`, a rendezvous of variables, and
//! launchers that do not hold their promises.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use urom_tests::{MPI_DIRECTORY, doca_library, profile_directory};

fn program() -> Result<Command> {
    let mut command = Command::new(profile_directory()?.join("examples/launched_participant"));
    command.env_remove("UROM_DOCA_LIBRARY");
    Ok(command)
}

fn mpirun(participants: u32, directory: &Path) -> Command {
    let mut command = Command::new("mpirun");
    command.env(MPI_DIRECTORY, directory).env_remove("UROM_DOCA_LIBRARY");
    command.args(["--allow-run-as-root", "--oversubscribe", "--timeout", "300"]);
    command.args(["-np", &participants.to_string()]);
    command
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

/// Runs a program that must fail; returns what it prints to standard error.
fn fails(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    assert!(!output.status.success(), "{command:?} succeeds");
    Ok(String::from_utf8(output.stderr)?)
}

#[test]
fn a_rank_that_never_comes_is_named_within_the_programs_own_timeout() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let mut command = mpirun(3, directory.path());
    command.arg(program()?.get_program()).args(["absent", "seconds=2"]);
    let errors = fails(&mut command)?;
    assert!(errors.contains("not all 3 participants came"), "{errors}");
    assert!(errors.contains("missing 1"), "{errors}");
    Ok(())
}

#[test]
fn a_process_without_a_launcher_is_told_which_variables_were_looked_for() -> Result<()> {
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
fn a_missing_or_foreign_libpmix_is_an_error_with_its_name() -> Result<()> {
    let directory = tempfile::tempdir()?;
    fs::write(directory.path().join("libpmix.so.2"), "not a library")?;
    let mut command = program()?;
    command.env("PMIX_NAMESPACE", "job").env("PMIX_RANK", "0");
    command.env("LD_LIBRARY_PATH", directory.path());
    let errors = fails(&mut command)?;
    assert!(errors.contains("libpmix.so.2") && errors.contains("libpmix2"), "{errors}");
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
