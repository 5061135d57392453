//! A worker's thread: starts the worker, and measures its loopbacks.

use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use example_common::Common;
use graph_protocol::Protocol as Graph;
use tracing::info;
use urom_host::{ProgressEngine, ServiceHandle, Worker, block_on_for};

/// Timeout of each step.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

/// Unmeasured loopbacks, which open connections and warm caches.
pub(crate) const WARM_UP: usize = 200;
pub(crate) const MEASURED: usize = 1001;

#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) id: u64,
    pub(crate) group: u32,
    pub(crate) returned: u64,
    pub(crate) first: Duration,
    pub(crate) median: Duration,
}

/// Only one thread measures at a time, to avoid interference.
static MEASURING: Mutex<()> = Mutex::new(());

/// Runs worker `id` until `quit` is closed. Sends the result, or the error, to `report`.
pub(crate) fn run(
    service: &ServiceHandle,
    common: &Common,
    id: u64,
    report: Sender<Result<Report>>,
    quit: &Receiver<()>,
) -> Result<()> {
    let (worker, fared) = start(service, common, id)
        .map_or_else(|error| (None, Err(error)), |(worker, fared)| (Some(worker), Ok(fared)));
    // Fails if the main thread has ended. It waits until all senders are closed.
    let _ = report.send(fared);
    drop(report);
    let Some(worker) = worker else { return Ok(()) };
    // The main thread closes the channel without sending.
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
