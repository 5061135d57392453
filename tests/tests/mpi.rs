//! All-gathers over MPI, and domains over them, under a real `mpirun`.

use std::path::Path;

use anyhow::Result;
use urom_tests::{doca_library, mpirun, profile_directory};

fn run(participants: u32, library: Option<&Path>) -> Result<()> {
    let program = profile_directory()?.join("examples/mpi_participant");
    let directory = tempfile::tempdir()?;
    let mut command = mpirun(participants, directory.path());
    command.envs(library.map(|library| ("UROM_DOCA_LIBRARY", library)));
    command.arg(program);
    urom_tests::run(&mut command)?;
    Ok(())
}

#[test]
fn a_process_that_mpirun_started_alone_is_a_group_of_one() -> Result<()> {
    run(1, None)
}

#[test]
fn two_processes_exchange_blocks_and_form_a_domain() -> Result<()> {
    run(2, None)
}

#[test]
fn four_processes_exchange_blocks_and_form_a_domain() -> Result<()> {
    run(4, None)
}

#[test]
fn two_processes_form_a_domain_through_a_library_that_is_loaded() -> Result<()> {
    run(2, Some(&doca_library()?))
}
