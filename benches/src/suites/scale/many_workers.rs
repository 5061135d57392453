//! As many workers on one daemon as its users are promised: started together, used, joined into domains, stopped. How long they
//! take to start is measured with UCX as users have it, too.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use urom_host::gather::InProcess;
use urom_host::{Service, Starting, Worker, block_on};
use urom_tests::{PluginDirectory, Uromd};

use super::{NAME, Role, SHORT_STARTS};
use crate::child::{self, Child};
use crate::figure::Figure;
use crate::processes;
use crate::transport::Transport;

const WORKERS: u64 = 256;
/// How many start at the same time with UCX as it comes.
const FEW: u64 = 16;
const DOMAINS: [u64; 2] = [64, WORKERS];

/// What the host is started with.
#[derive(Serialize, Deserialize)]
pub(super) struct Arguments {
    daemon: String,
}

/// What it is told. It answers how many nanoseconds that took.
#[derive(Serialize, Deserialize)]
enum Order {
    /// Workers more, all of them at the same time.
    Start(u64),
    /// A command for each worker; each must be answered.
    Use,
    /// A domain of so many workers, that is started and stopped: the start counts.
    Domain(u64),
    /// All workers.
    Stop,
}

pub(super) fn measure() -> Result<Vec<Figure>> {
    let mut figures = short_starts()?;
    figures.extend(default_environment()?);
    Ok(figures)
}

/// How long starts take by who has set nothing: UCX may use everything, and puts hooks on memory.
fn default_environment() -> Result<Vec<Figure>> {
    fn unset(command: &mut Command) -> &mut Command {
        SHORT_STARTS.iter().chain(&[Transport::SharedMemory.variable()]).for_each(
            |(variable, _)| {
                command.env_remove(variable);
            },
        );
        command
    }
    let plugins = PluginDirectory::with(&["worker_graph"])?;
    let daemon =
        Uromd::start_with(plugins.variable(), |command| unset(command.args(["-l", "30"])))?;
    let role = Role::Workers(Arguments { daemon: daemon.address().to_owned() });
    let mut host = Child::start(NAME, &role, unset)?;
    let mut ns = |order| -> Result<f64> { Ok(host.ask::<u64>(&order)? as f64) };
    let mut figures = Vec::new();
    for count in [FEW, WORKERS - 1] {
        ns(Order::Start(1))?;
        let start = ns(Order::Start(count))?;
        ns(Order::Use)?;
        ns(Order::Stop)?;
        let name = |what| format!("{NAME}/default-environment/{what}");
        figures.extend([
            Figure::new(name(format!("start-of-{count}-workers")), "ns", start).note(
                "by one host, all at the same time, beside one that is there; with no variable of UCX's, as users have it",
            ),
            Figure::new(name(format!("start-of-a-worker-of-{count}")), "ns", start / count as f64)
                .note("the mean of these, which share the 0.4 s that UCX's hooks on memory take: it yields meanwhile"),
        ]);
    }
    host.finish()?;
    ensure!(daemon.stop()?.success(), "uromd did not end in order");
    Ok(figures)
}

/// All that is measured of workers that start in a short time.
fn short_starts() -> Result<Vec<Figure>> {
    let (variable, value) = Transport::SharedMemory.variable();
    let plugins = PluginDirectory::with(&["worker_graph"])?;
    let daemon = Uromd::start_with(plugins.variable(), |command| {
        command.args(["-l", "30"]).env(variable, value).envs(SHORT_STARTS)
    })?;
    let role = Role::Workers(Arguments { daemon: daemon.address().to_owned() });
    let mut host =
        Child::start(NAME, &role, |command| command.env(variable, value).envs(SHORT_STARTS))?;

    let mut ns = |order| -> Result<f64> { Ok(host.ask::<u64>(&order)? as f64) };
    ns(Order::Start(1))?;
    ns(Order::Use)?;
    let alone = memory(&daemon)?.0;
    let start = ns(Order::Start(WORKERS - 1))?;
    let used = ns(Order::Use)?;
    let (among_many, workers) = memory(&daemon)?;
    let mut figures = vec![
        Figure::new(format!("{NAME}/workers-on-one-daemon"), "", workers as f64)
            .note("processes that are there at the same time, each of which has answered a command"),
        Figure::new(format!("{NAME}/start-of-255-workers"), "ns", start)
            .note("by one host, all at the same time, beside one that is there; with UCX_MEM_EVENTS=n, unlike default-environment"),
        Figure::new(format!("{NAME}/start-of-a-worker"), "ns", start / (WORKERS - 1) as f64)
            .note("the mean of these"),
        Figure::new(format!("{NAME}/command-to-each-worker"), "ns", used / WORKERS as f64)
            .note("the first for nearly all of them; all are in flight together"),
        Figure::new(format!("{NAME}/memory/one-worker"), "bytes", alone)
            .note("proportional set size with one plugin and one host, when there is no other worker to share libraries with"),
        Figure::new(format!("{NAME}/memory/worker-of-256"), "bytes", among_many)
            .note("proportional set size, the mean of all"),
    ];
    for size in DOMAINS {
        let name = format!("{NAME}/start-of-a-domain/{size}");
        figures.push(Figure::new(name, "ns", ns(Order::Domain(size))?).note("workers of one host"));
    }
    let stop = ns(Order::Stop)?;
    let name = format!("{NAME}/stop-of-a-worker");
    figures.push(
        Figure::new(name, "ns", stop / WORKERS as f64).note("of 256 that stop at the same time"),
    );
    host.finish()?;
    ensure!(daemon.stop()?.success(), "uromd did not end in order");
    Ok(figures)
}

/// The mean memory of the daemon's workers, and how many there are.
fn memory(daemon: &Uromd) -> Result<(f64, usize)> {
    let workers = processes::children(daemon.pid())?;
    let sum = workers.iter().map(|worker| processes::memory(*worker)).sum::<Result<u64>>()?;
    Ok((sum as f64 / workers.len() as f64, workers.len()))
}

pub(super) fn child(arguments: &Arguments) -> Result<()> {
    let service =
        Service::builder().address(&arguments.daemon).max_workers(WORKERS as u32).connect()?;
    let graph = service.plugin::<graph_protocol::Protocol>()?;
    let mut workers: Vec<Worker> = Vec::new();
    child::serve(|order| -> Result<u64> {
        let begin = Instant::now();
        let ended = match order {
            Order::Start(count) => {
                let start = |_| service.worker().any_id().plugin(graph.plugin()).start();
                let starts: Vec<Starting> = (0..count).map(start).collect();
                for start in starts {
                    let worker =
                        start.wait().with_context(|| format!("after {} workers", workers.len()))?;
                    workers.push(worker);
                }
                begin.elapsed()
            }
            Order::Use => {
                let sent = workers
                    .iter()
                    .zip(0..)
                    .map(|(worker, data)| graph.task_loopback(worker, data).submit());
                let sent = sent.collect::<urom_host::Result<Vec<_>>>()?;
                for (task, data) in sent.into_iter().zip(0..) {
                    let done = task.wait()?;
                    ensure!(done.data == data, "worker {data} answered {}", done.data);
                }
                begin.elapsed()
            }
            Order::Domain(size) => {
                let builder = service.domain().gather(InProcess::alone());
                let members = workers.iter().zip(0..size);
                let builder =
                    members.fold(builder, |builder, (worker, id)| builder.worker(id, worker));
                let domain = builder.start().wait()?;
                let started = begin.elapsed();
                domain.stop()?;
                started
            }
            Order::Stop => {
                let stops: Vec<_> = workers.drain(..).map(Worker::stop).collect();
                stops.into_iter().try_for_each(block_on)?;
                begin.elapsed()
            }
        };
        Ok(ended.as_nanos() as u64)
    })
}
