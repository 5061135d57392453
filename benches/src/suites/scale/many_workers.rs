//! As many workers on one daemon as it has to serve: started together, used, joined into domains,
//! stopped. Their start is measured with UCX's default environment, too.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use urom_host::gather::InProcess;
use urom_host::{Host, Service, Starting, Worker, block_on};

use super::NAME;
use crate::figure::Figure;
use crate::launch::{Daemon, Launch};
use crate::processes;

const WORKERS: u64 = 256;
/// How many start together in the smaller round of the default environment.
const FEW: u64 = 16;
const DOMAINS: [u64; 2] = [64, WORKERS];

/// A host and its workers. Each step returns its nanoseconds.
struct Many {
    workers: Vec<Worker>,
    graph: graph_protocol::Client<Host>,
    service: Service,
    // After its host.
    daemon: Daemon,
}

impl Many {
    fn start(launch: &Launch) -> Result<Many> {
        let daemon = launch.daemon(&["worker_graph"])?;
        let builder = Service::builder().address(daemon.address());
        let service = builder.max_workers(WORKERS as u32).connect()?;
        let graph = service.plugin::<graph_protocol::Protocol>()?;
        Ok(Many { workers: Vec::new(), graph, service, daemon })
    }

    fn start_workers(&mut self, count: u64) -> Result<f64> {
        let begin = Instant::now();
        let start = |_| self.service.worker().any_id().plugin(self.graph.plugin()).start();
        let starts: Vec<Starting<Worker>> = (0..count).map(start).collect();
        for start in starts {
            let worker = start.wait();
            let number = self.workers.len();
            self.workers.push(worker.with_context(|| format!("after {number} workers"))?);
        }
        Ok(begin.elapsed().as_nanos() as f64)
    }

    fn use_workers(&self) -> Result<f64> {
        let begin = Instant::now();
        let send = |(worker, data)| self.graph.task_loopback(worker, data).submit();
        let sent = self.workers.iter().zip(0..).map(send).collect::<urom_host::Result<Vec<_>>>()?;
        for (task, data) in sent.into_iter().zip(0..) {
            let done = task.wait()?;
            ensure!(done.data == data, "worker {data} answered {}", done.data);
        }
        Ok(begin.elapsed().as_nanos() as f64)
    }

    fn start_domain(&self, size: u64) -> Result<f64> {
        let begin = Instant::now();
        let builder = self.service.domain().gather(InProcess::alone());
        let members = self.workers.iter().zip(0..size);
        let builder = members.fold(builder, |builder, (worker, id)| builder.worker(id, worker));
        let domain = builder.start().wait()?;
        let started = begin.elapsed();
        domain.stop()?;
        Ok(started.as_nanos() as f64)
    }

    fn stop_workers(&mut self) -> Result<f64> {
        let begin = Instant::now();
        let stops: Vec<_> = self.workers.drain(..).map(Worker::stop).collect();
        stops.into_iter().try_for_each(block_on)?;
        Ok(begin.elapsed().as_nanos() as f64)
    }

    /// The mean memory of the workers in bytes, and their number.
    fn memory(&self) -> Result<(f64, usize)> {
        let workers = processes::children(self.daemon.pid())?;
        let sum = workers.iter().map(|worker| processes::memory(*worker)).sum::<Result<u64>>()?;
        Ok((sum as f64 / workers.len() as f64, workers.len()))
    }
}

/// The start of workers for a user who sets nothing.
pub(super) fn default_environment(launch: &Launch) -> Result<Vec<Figure>> {
    let mut many = Many::start(launch)?;
    let mut figures = Vec::new();
    for count in [FEW, WORKERS - 1] {
        many.start_workers(1)?;
        let start = many.start_workers(count)?;
        many.use_workers()?;
        many.stop_workers()?;
        let name = |what| format!("{NAME}/default-environment/{what}");
        figures.extend([
            Figure::new(name(format!("start-of-{count}-workers")), "ns", start)
                .note("by one host, all at the same time, with no variable of UCX set"),
            Figure::new(name(format!("start-of-a-worker-of-{count}")), "ns", start / count as f64)
                .note("the mean of these, which share the 0.4 s of UCX's hooks on memory"),
        ]);
    }
    Ok(figures)
}

/// Everything about workers that start in a short time.
pub(super) fn short_starts(launch: &Launch) -> Result<Vec<Figure>> {
    let mut many = Many::start(launch)?;
    many.start_workers(1)?;
    many.use_workers()?;
    let alone = many.memory()?.0;
    let start = many.start_workers(WORKERS - 1)?;
    let used = many.use_workers()?;
    let (among_many, workers) = many.memory()?;
    let figure = |what: &str, unit, value| Figure::new(format!("{NAME}/{what}"), unit, value);
    let mut figures = vec![
        figure("workers-on-one-daemon", "", workers as f64)
            .note("processes at the same time, each of which has answered a command"),
        figure("start-of-255-workers", "ns", start)
            .note("by one host, all at the same time, with UCX_MEM_EVENTS=n"),
        figure("start-of-a-worker", "ns", start / (WORKERS - 1) as f64).note("the mean of these"),
        figure("command-to-each-worker", "ns", used / WORKERS as f64)
            .note("the first for nearly all of them; all are in flight together"),
        figure("memory/one-worker", "bytes", alone)
            .note("proportional set size with one plugin and one host, without other workers"),
        figure("memory/worker-of-256", "bytes", among_many)
            .note("proportional set size, the mean of all"),
    ];
    for size in DOMAINS {
        let start = many.start_domain(size)?;
        figures.push(figure(&format!("start-of-a-domain/{size}"), "ns", start));
    }
    let stop = many.stop_workers()?;
    let each = figure("stop-of-a-worker", "ns", stop / WORKERS as f64);
    figures.push(each.note("of 256 that stop at the same time"));
    Ok(figures)
}
