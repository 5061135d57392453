//! Exchanges and domains between processes, over any all-gather.

use std::path::Path;
use std::rc::Rc;

use anyhow::{Result, anyhow, ensure};
use urom_host::gather::AllGather;
use urom_host::{ContextState, Service};
use urom_tests::PluginDirectory;

pub(crate) fn exchange(gather: &mut impl AllGather, block: &[u8]) -> Result<Vec<u8>> {
    gather.begin(block).map_err(|error| anyhow!(error))?;
    let mut blocks = vec![0; block.len() * gather.participants() as usize];
    while !gather.test(&mut blocks).map_err(|error| anyhow!(error))? {
        std::thread::yield_now();
    }
    Ok(blocks)
}

pub(crate) fn exchanges(gather: &mut impl AllGather, largest: usize) -> Result<()> {
    for (length, round) in [8, 0, 1, largest, 4097, 0].into_iter().zip(0..) {
        let block = |index: u32| {
            (0..length).map(move |at: usize| (at as u32 ^ index << 3 ^ round << 5) as u8)
        };
        let blocks = exchange(gather, &block(gather.index()).collect::<Vec<_>>())?;
        let right = (0..gather.participants()).flat_map(block);
        ensure!(blocks.into_iter().eq(right), "exchange {round} is wrong");
    }
    Ok(())
}

/// Starts a domain of one worker for each process, each in its own service.
pub(crate) fn domain(gather: impl AllGather + 'static) -> Result<()> {
    let plugins = PluginDirectory::with(&["worker_graph"])?;
    let service = Service::builder().plugin_paths([plugins.variable()]).connect_blocking()?;
    let named = std::env::var_os("UROM_DOCA_LIBRARY");
    ensure!(
        service.library().path() == named.as_deref().map(Path::new),
        "it is {:?}",
        service.library()
    );
    let (index, participants) = (gather.index(), gather.participants());
    let graph = service.plugin::<graph_protocol::Protocol>()?;
    let worker = Rc::new(service.worker().plugin(&graph).start().wait()?);
    let domain = service.domain().worker(index.into(), &worker).gather(gather).start().wait()?;
    ensure!((domain.participants(), domain.index()) == (participants, index));
    ensure!(domain.state()? == ContextState::Running);
    ensure!(graph.task_loopback(&worker, 42).submit()?.wait()?.data == 42);
    domain.stop_blocking()?;
    Ok(())
}
