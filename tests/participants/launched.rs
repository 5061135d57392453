//! One process of a program that a launcher started: exchanges bytes with the others in the way
//! that the launcher offers, and starts two domains.
//!
//! Arguments: `absent=RANK` does not meet the others, and waits to be killed; `seconds=N` is the
//! timeout.

use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Result, anyhow, ensure};
use urom_host::gather::{AllGather, Rendezvous};
use urom_host::{ContextState, DocaError, Service};
use urom_tests::PluginDirectory;

fn main() -> Result<()> {
    let value =
        |name: &str| std::env::args().find_map(|word| Some(word.strip_prefix(name)?.to_owned()));
    let seconds = value("seconds=").and_then(|seconds| seconds.parse().ok());
    let limit = Duration::from_secs(seconds.unwrap_or(60));
    println!("process {}", std::process::id());
    if value("absent=").is_some_and(|rank| std::env::var("PMIX_RANK").ok() == Some(rank)) {
        loop {
            std::thread::park();
        }
    }
    for _ in 0..2 {
        let mut gather = Rendezvous::from_environment(limit)?;
        exchanges(&mut gather)?;
        domain(gather)?;
        forked_child_ends()?;
    }
    println!("launched: ok");
    Ok(())
}

/// A forked child cannot use PMIx, and its end leaves the parent's connection to the launcher alone.
fn forked_child_ends() -> Result<()> {
    // SAFETY: the child takes no lock that another thread of this process may hold.
    match unsafe { libc::fork() } {
        0 => {
            let error = Rendezvous::by_pmix(Duration::from_secs(20)).err();
            let refused = error.is_some_and(|error| error.code() == DocaError::BAD_STATE);
            std::process::exit(i32::from(!refused))
        }
        child => {
            let mut status = -1;
            // SAFETY: a child of this process, and a local variable.
            ensure!(unsafe { libc::waitpid(child, &mut status, 0) } == child, "no child");
            ensure!(status == 0, "PMIx is not refused in a forked child");
        }
    }
    Ok(())
}

/// Blocks of many lengths.
fn exchanges(gather: &mut Rendezvous) -> Result<()> {
    for (length, round) in [8, 0, 1, 1 << 20, 4097, 0].into_iter().zip(0..) {
        let block = |index: u32| {
            (0..length).map(move |at: usize| (at as u32 ^ index << 3 ^ round << 5) as u8)
        };
        let own: Vec<u8> = block(gather.index()).collect();
        gather.begin(&own).map_err(|error| anyhow!(error))?;
        let mut blocks = vec![0; own.len() * gather.participants() as usize];
        while !gather.test(&mut blocks).map_err(|error| anyhow!(error))? {
            std::thread::yield_now();
        }
        let right = (0..gather.participants()).flat_map(block);
        ensure!(blocks.into_iter().eq(right), "exchange {round} is wrong");
    }
    Ok(())
}

/// A domain of one worker for each process, in a service of each process's own.
fn domain(gather: Rendezvous) -> Result<()> {
    let plugins = PluginDirectory::with(&["worker_graph"])?;
    let service = Service::builder().load_plugins_from(plugins.variable()).connect()?;
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
    domain.stop()?;
    Ok(())
}
