//! A host as on a machine with a BlueField: it finds its service by the environment and uses only
//! DOCA's interface.
//!
//! Argument: the device. Its library must be `UROM_DOCA_LIBRARY`'s, without our extensions.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use faulty_protocol::Protocol as Faulty;
use graph_protocol::Protocol as Graph;
use urom_host::gather::InProcess;
use urom_host::{
    ContextState, DocaError, DocaStatus, ProgressEngine, Service, block_on_for, devices,
};

const LIMIT: Duration = Duration::from_secs(30);

fn main() -> Result<()> {
    let device = std::env::args().nth(1).context("which device?")?;
    ensure!(
        devices()?.iter().any(|known| known.name == device),
        "no {device} among {:?}",
        devices()?
    );
    let service = Service::builder().device(&device).max_workers(4).connect_blocking()?;
    let library = std::env::var_os("UROM_DOCA_LIBRARY").context("which library?")?;
    ensure!(service.library().path() == Some(Path::new(&library)), "{:?}", service.library());
    ensure!(
        ProgressEngine::new()?.library() == service.library(),
        "one library for a program without a name for it"
    );
    ensure!(
        format!("{:?}", service.library()).contains("is_own: false"),
        "{:?}",
        service.library()
    );

    let graph = service.plugin::<Graph>()?;
    let worker = service.worker().id(3).group(7).plugin(&graph).start().wait()?;
    for data in 0..1000 {
        ensure!(graph.task_loopback(&worker, data).submit()?.wait()?.data == data);
    }
    ensure!(service.workers_of_group(7).wait()? == [3]);
    let domain = service.domain().worker(0, &worker).gather(InProcess::group(1).remove(0)).start();
    let domain = block_on_for(LIMIT, domain)??;
    ensure!(domain.state()? == ContextState::Running);
    domain.stop_blocking()?;
    refusals(&service)?;
    worker.stop().wait()?;
    Ok(())
}

/// Every error has a code and a meaningful message.
fn refusals(service: &Service) -> Result<()> {
    let (graph, faulty) = (service.plugin::<Graph>()?, service.plugin::<Faulty>()?);
    let other = service.worker().id(3).plugin(&faulty).start().wait().map(drop);
    let error = other.err().context("worker 3 has another plugin")?;
    ensure!(error.to_string().contains("worker 3"), "{error}");
    ensure!(service.failure().is_none());

    let worker = service.worker().plugin(&faulty).plugin(&graph).start().wait()?;
    let hanging = faulty.task_hang(&worker).submit()?;
    let stopping = worker.stop();
    let error = block_on_for(LIMIT, hanging)?.map(drop).err().context("its worker was stopped")?;
    ensure!(error.code() == DocaError::SHUTDOWN, "{error}");
    block_on_for(LIMIT, stopping)??;

    let group = InProcess::group(2);
    let worker = service.worker().plugin(&graph).start().wait()?;
    let starts =
        group.into_iter().map(|gather| service.domain().worker(7, &worker).gather(gather).start());
    for start in starts.collect::<Vec<_>>() {
        let error =
            block_on_for(LIMIT, start)?.map(drop).err().context("two members with one id")?;
        ensure!(error.code() != DocaStatus::SUCCESS, "{error}");
    }
    Ok(())
}
