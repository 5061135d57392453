//! One process of the tests under `mpirun`: all-gathers over MPI, and a domain with one.

mod all_gather;

use all_gather::{domain, exchanges};
use anyhow::{Context, Result, ensure};
use urom_host::DocaError;
use urom_host::gather::{AllGather, Error as GatherError, Mpi};
use urom_host::mpi::topology::{Communicator, SimpleCommunicator};
use urom_host::mpi::{self, Threading};

fn main() -> Result<()> {
    // The lowest thread level: all MPI calls are on this thread.
    let (universe, _) =
        mpi::initialize_with_threading(Threading::Single).context("MPI is initialised already")?;
    let world = universe.world();
    let mut gather = Mpi::new(&world)?;
    ensure!(gather.participants() == world.size() as u32 && gather.index() == world.rank() as u32);
    let largest = (12 << 20) / gather.participants() as usize;
    exchanges(&mut gather, largest)?;
    refusals(&mut gather)?;
    domain(gather)?;
    let left_over = Mpi::new(&world)?;
    drop(universe);
    too_late(left_over)?;
    Ok(())
}

fn refusals(gather: &mut Mpi) -> Result<()> {
    ensure!(code(gather.test(&mut [])) == Some(DocaError::BAD_STATE), "tested without an exchange");
    gather.begin(b"ab").map_err(|error| anyhow::anyhow!(error))?;
    ensure!(code(gather.begin(b"ab")) == Some(DocaError::BAD_STATE), "two at a time");
    ensure!(
        code(gather.test(&mut [0; 1])) == Some(DocaError::INVALID_VALUE),
        "a buffer of another length"
    );
    let mut blocks = vec![0; 2 * gather.participants() as usize];
    while !gather.test(&mut blocks).map_err(|error| anyhow::anyhow!(error))? {}
    ensure!(blocks == b"ab".repeat(gather.participants() as usize));
    Ok(())
}

/// MPI aborts a program that calls it after finalization; the all-gather returns an error first.
fn too_late(mut left_over: Mpi) -> Result<()> {
    ensure!(code(left_over.begin(b"a")) == Some(DocaError::BAD_STATE), "MPI is finalized");
    let world = SimpleCommunicator::world();
    ensure!(Mpi::new(&world).is_err_and(|error| error.to_string() == "MPI is finalized already"));
    Ok(())
}

fn code<T>(result: Result<T, urom_host::gather::BoxError>) -> Option<DocaError> {
    result.err()?.downcast_ref().map(GatherError::code)
}
