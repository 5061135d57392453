//! Many at once: workers on one daemon, and plugins in one worker.

use anyhow::{Context, Result, ensure};
use urom_host::{Pending, Plugin, Service, Worker, block_on};
use urom_tests::{PluginDirectory, built};

use super::loopback::round::{self, Work};
use super::{Part, Suite};
use crate::cores::pin;
use crate::figure::Figure;
use crate::launch::{Daemon, Launch, worker};
use crate::processes;

pub(crate) const SUITE: Suite = Suite {
    name: NAME,
    about: "256 workers on one daemon, 62 plugins in one worker",
    parts: &[
        Part { variables: &[SHORT_STARTS], ..Part::once(many_workers) },
        Part { variables: &[SHORT_STARTS], ..Part::once(many_plugins) },
    ],
    process: None,
};

const NAME: &str = "scale";

/// UCX's hooks on memory take longer to start than all else of a worker: 0.4 s in which it yields
/// its core. Without them UCX allocates for each message over TCP, so no other suite does without.
const SHORT_STARTS: (&str, &str) = ("UCX_MEM_EVENTS", "n");

const WORKERS: u64 = 256;

/// As many workers on one daemon as it has to serve: started together, used, stopped.
fn many_workers(launch: &Launch) -> Result<Vec<Figure>> {
    let daemon = launch.daemon(&["worker_graph"])?;
    let builder = Service::builder().address(daemon.address());
    let service = builder.max_workers(WORKERS as u32).connect()?;
    let graph = service.plugin::<graph_protocol::Protocol>()?;
    let start = |_| service.worker().any_id().plugin(graph.plugin()).start();
    let starts: Vec<Pending<Worker>> = (0..WORKERS).map(start).collect();
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

const PLUGINS: usize = 62;

/// As many plugins in one worker as it takes: one is used, the others have no work.
fn many_plugins(launch: &Launch) -> Result<Vec<Figure>> {
    let plugins = PluginDirectory::with(&["worker_graph"])?;
    let file = built("libworker_graph.so")?;
    let name = |number: usize| format!("copy_{number:02}");
    for number in 1..PLUGINS {
        // A copy, so that each is loaded by itself.
        let copy = plugins.path().join(format!("{}.so", name(number)));
        std::fs::copy(&file, &copy).with_context(|| file.display().to_string())?;
    }
    let daemon = Daemon::start(plugins, |command| command)?;
    let service = daemon.connect()?;
    let graph = service.plugin::<graph_protocol::Protocol>()?;
    let others = (1..PLUGINS).map(|number| service.plugin_named(&name(number)));
    let others = others.collect::<urom_host::Result<Vec<Plugin>>>()?;
    let plugins: Vec<&Plugin> = [graph.plugin()].into_iter().chain(&others).collect();
    ensure!(plugins.len() == service.plugins().len(), "the service has other plugins too");
    let worker = worker(&service, &plugins, launch.cores.worker())?;
    pin(launch.cores.host(0))?;
    round::kit(&graph, &worker, Work { trips: 1_000, depth: 1, single: false })?;
    let figure = Figure::new(format!("{NAME}/plugins-in-one-worker"), "", plugins.len() as f64);
    Ok(vec![figure.note("open in a worker that answered commands")])
}
