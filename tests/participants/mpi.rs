//! One process of the tests under `mpirun`: all-gathers over MPI, and a domain with one.

use std::path::Path;
use std::rc::Rc;

use anyhow::{Context, Result, ensure};
use urom_host::gather::{AllGather, Error as GatherError, Mpi};
use urom_host::mpi::topology::{Communicator, SimpleCommunicator};
use urom_host::mpi::{self, Threading};
use urom_host::{ContextState, DocaError, Service};
use urom_tests::PluginDirectory;

fn main() -> Result<()> {
    // As little as MPI can be asked for: everything happens on this thread.
    let (universe, _) =
        mpi::initialize_with_threading(Threading::Single).context("MPI is initialised already")?;
    let world = universe.world();
    let mut gather = Mpi::new(&world)?;
    ensure!(gather.participants() == world.size() as u32 && gather.index() == world.rank() as u32);
    exchanges(&mut gather)?;
    refusals(&mut gather)?;
    domain(gather, &world)?;
    let left_over = Mpi::new(&world)?;
    drop(universe);
    too_late(left_over)?;
    Ok(())
}

/// Blocks of many lengths; the largest takes more than one round.
fn exchanges(gather: &mut Mpi) -> Result<()> {
    let large = (12 << 20) / gather.participants() as usize;
    for (length, round) in [8, 0, 1, large, 4097, 0].into_iter().zip(0..) {
        let block = |index: u32| {
            (0..length).map(move |at: usize| (at as u32 ^ index << 3 ^ round << 5) as u8)
        };
        let blocks = exchange(gather, &block(gather.index()).collect::<Vec<_>>())?;
        ensure!(
            blocks.into_iter().eq((0..gather.participants()).flat_map(block)),
            "exchange {round} is wrong"
        );
    }
    Ok(())
}

fn exchange(gather: &mut Mpi, block: &[u8]) -> Result<Vec<u8>> {
    gather.begin(block).map_err(|error| anyhow::anyhow!(error))?;
    let mut blocks = vec![0; block.len() * gather.participants() as usize];
    while !gather.test(&mut blocks).map_err(|error| anyhow::anyhow!(error))? {
        std::thread::yield_now();
    }
    Ok(blocks)
}

fn refusals(gather: &mut Mpi) -> Result<()> {
    ensure!(code(gather.test(&mut [])) == Some(DocaError::BAD_STATE), "tested without an exchange");
    gather.begin(b"ab").map_err(|error| anyhow::anyhow!(error))?;
    ensure!(code(gather.begin(b"ab")) == Some(DocaError::BAD_STATE), "two at a time");
    ensure!(
        code(gather.test(&mut [0; 1])) == Some(DocaError::INVALID_VALUE),
        "room for something else"
    );
    let mut blocks = vec![0; 2 * gather.participants() as usize];
    while !gather.test(&mut blocks).map_err(|error| anyhow::anyhow!(error))? {}
    ensure!(blocks == b"ab".repeat(gather.participants() as usize));
    Ok(())
}

/// A domain of one worker for each process, in a service of each process's own.
fn domain(gather: Mpi, world: &SimpleCommunicator) -> Result<()> {
    let plugins = PluginDirectory::with(&["worker_graph"])?;
    let service = Service::builder().load_plugins_from(plugins.variable()).connect()?;
    let named = std::env::var_os("UROM_DOCA_LIBRARY");
    ensure!(
        service.library().path() == named.as_deref().map(Path::new),
        "it is {:?}",
        service.library()
    );
    let graph = service.plugin::<graph_protocol::Protocol>()?;
    let worker = Rc::new(service.worker().plugin(&graph).start().wait()?);
    let domain =
        service.domain().worker(world.rank() as u64, &worker).gather(gather).start().wait()?;
    ensure!((domain.participants(), domain.index()) == (world.size() as u32, world.rank() as u32));
    ensure!(domain.state()? == ContextState::Running);
    ensure!(graph.task_loopback(&worker, 42).submit()?.wait()?.data == 42);
    domain.stop()?;
    Ok(())
}

/// MPI ends a program that calls it after its end; an all-gather does not let it come to that.
fn too_late(mut left_over: Mpi) -> Result<()> {
    ensure!(code(left_over.begin(b"a")) == Some(DocaError::BAD_STATE), "MPI is finalized");
    let world = SimpleCommunicator::world();
    ensure!(Mpi::new(&world).is_err_and(|error| error.to_string() == "MPI is finalized already"));
    Ok(())
}

fn code<T>(result: Result<T, urom_host::gather::BoxError>) -> Option<DocaError> {
    result.err()?.downcast_ref().map(GatherError::code)
}
