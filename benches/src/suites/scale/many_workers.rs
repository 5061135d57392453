//! As many workers on one daemon as it has to serve: started together, used, stopped.

use anyhow::{Context, Result, ensure};
use urom_host::{Service, Starting, Worker, block_on};

use super::NAME;
use crate::figure::Figure;
use crate::launch::Launch;
use crate::processes;

const WORKERS: u64 = 256;

pub(super) fn measure(launch: &Launch) -> Result<Vec<Figure>> {
    let daemon = launch.daemon(&["worker_graph"])?;
    let builder = Service::builder().address(daemon.address());
    let service = builder.max_workers(WORKERS as u32).connect()?;
    let graph = service.plugin::<graph_protocol::Protocol>()?;
    let start = |_| service.worker().any_id().plugin(graph.plugin()).start();
    let starts: Vec<Starting<Worker>> = (0..WORKERS).map(start).collect();
    let mut workers = Vec::new();
    for start in starts {
        let number = workers.len();
        workers.push(start.wait().with_context(|| format!("after {number} workers"))?);
    }
    let send = |(worker, data)| graph.task_loopback(worker, data).submit();
    let sent = workers.iter().zip(0..).map(send).collect::<urom_host::Result<Vec<_>>>()?;
    for (task, data) in sent.into_iter().zip(0..) {
        let done = task.wait()?;
        ensure!(done.data == data, "worker {data} answered {}", done.data);
    }
    let count = processes::children(daemon.pid())?.len();
    let stops: Vec<_> = workers.into_iter().map(Worker::stop).collect();
    stops.into_iter().try_for_each(block_on)?;
    let figure = Figure::new(format!("{NAME}/workers-on-one-daemon"), "", count as f64);
    Ok(vec![figure.note("processes at the same time, each of which has answered a command")])
}
