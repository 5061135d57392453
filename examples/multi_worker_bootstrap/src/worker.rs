//! What each thread does: a worker of its own, its loopback, and the time a loopback takes.

use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use example_common::Common;
use graph_protocol::Protocol as Graph;
use tracing::info;
use urom_host::{ProgressEngine, ServiceHandle, Worker, block_on_for};

/// Nothing here takes longer unless something is wrong.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

/// Loopbacks that are not measured: the first ones pay for connections and cold caches.
pub(crate) const WARM_UP: usize = 200;
/// Loopbacks that are.
pub(crate) const MEASURED: usize = 1001;

/// How a worker fared.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) id: u64,
    pub(crate) group: u32,
    pub(crate) returned: u64,
    pub(crate) first: Duration,
    pub(crate) median: Duration,
}

/// One thread at a time measures: they would measure each other otherwise.
static MEASURING: Mutex<()> = Mutex::new(());

/// Runs worker `id` until `quit` is closed; `report` gets how it fared, or why it did not.
pub(crate) fn run(
    service: &ServiceHandle,
    common: &Common,
    id: u64,
    report: Sender<Result<Report>>,
    quit: &Receiver<()>,
) -> Result<()> {
    let (worker, fared) = start(service, common, id)
        .map_or_else(|error| (None, Err(error)), |(worker, fared)| (Some(worker), Ok(fared)));
    // A main thread that is gone needs no report. It waits for all of them: this one is closed now.
    let _ = report.send(fared);
    drop(report);
    let Some(worker) = worker else { return Ok(()) };
    // Nothing is ever sent: the other end is closed when it is time to stop.
    let _ = quit.recv();
    block_on_for(LIMIT, worker.stop())??;
    info!("Worker {id} has stopped");
    Ok(())
}

fn start(service: &ServiceHandle, common: &Common, id: u64) -> Result<(Worker, Report)> {
    let graph = service.plugin::<Graph>()?;
    let engine = ProgressEngine::with_library(service.library())?;
    let worker = service
        .worker()
        .engine(&engine)
        .id(id)
        .group((id % 2) as u32)
        .max_inflight(2)
        .plugin(&graph);
    let worker = block_on_for(LIMIT, common.worker_log(worker).start())??;
    info!("Worker id is {}", worker.id());

    let loopback = || -> Result<(u64, Duration)> {
        let begin = Instant::now();
        let returned = graph.task_loopback(&worker, id).submit()?.wait()?.data;
        let time = begin.elapsed();
        ensure!(returned == id, "worker {id} was sent {id} and returned {returned}");
        Ok((returned, time))
    };
    let _turn = MEASURING.lock().unwrap_or_else(PoisonError::into_inner);
    let (returned, first) = loopback()?;
    info!("Worker id {id} received loopback data {returned}");
    for _ in 0..WARM_UP {
        loopback()?;
    }
    let mut times = (0..MEASURED).map(|_| Ok(loopback()?.1)).collect::<Result<Vec<_>>>()?;
    times.sort_unstable();
    let (group, median) = (worker.group()?, times[MEASURED / 2]);
    let report = Report { id: worker.id(), group, returned, first, median };
    Ok((worker, report))
}
