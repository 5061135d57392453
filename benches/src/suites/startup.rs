//! Starting: a daemon, a host that connects to it, its first workers, and the first command.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use urom_host::{CpuSet, Service, block_on};
use urom_tests::{PluginDirectory, Uromd};

use super::Suite;
use crate::child::Child;
use crate::cores::pin;
use crate::extent::Extent;
use crate::figure::Figure;
use crate::transport::Transport;

pub(crate) const SUITE: Suite =
    Suite { name: NAME, about: "starting a daemon, a host and workers", run, child: Some(child) };

const NAME: &str = "startup";

/// What the host is started with.
#[derive(Serialize, Deserialize)]
struct Arguments {
    daemon: String,
    core: usize,
    worker_core: usize,
}

fn run(extent: &Extent) -> Result<Vec<Figure>> {
    extent.launches(NAME, |_| {
        let mut figures = Vec::new();
        for transport in Transport::ALL {
            figures.extend(launch(extent, transport)?);
        }
        Ok(figures)
    })
}

fn launch(extent: &Extent, transport: Transport) -> Result<Vec<Figure>> {
    let (variable, value) = transport.variable();
    let plugins = PluginDirectory::with(&["worker_graph"])?;
    let begin = Instant::now();
    let daemon = Uromd::start_with(plugins.variable(), |command| {
        command.args(["-l", "30"]).env(variable, value)
    })?;
    let started = begin.elapsed();
    let arguments = Arguments {
        daemon: daemon.address().to_owned(),
        core: extent.cores.host(0),
        worker_core: extent.cores.worker(),
    };
    let mut host = Child::start(NAME, &arguments, |command| command.env(variable, value))?;
    let steps: Vec<(String, u64)> = host.answer()?;
    host.finish()?;
    ensure!(daemon.stop()?.success(), "uromd did not end in order");
    let figure =
        |what: &str, ns: f64| Figure::new(format!("{NAME}/{what}/{}", transport.name()), "ns", ns);
    let daemon = figure("daemon", started.as_nanos() as f64)
        .note("until it says where it listens; it has looked at its plugins then");
    Ok(std::iter::once(daemon)
        .chain(steps.iter().map(|(what, ns)| figure(what, *ns as f64)))
        .collect())
}

/// A host's steps, each with its nanoseconds.
fn child(arguments: &str) -> Result<()> {
    let arguments: Arguments =
        serde_json::from_str(arguments).context("what a host is started with")?;
    pin(arguments.core).context("cannot pin the host to its core")?;
    let mut steps: Vec<(&str, u64)> = Vec::new();
    let mut begin = Instant::now();
    let mut step = |name| {
        steps.push((name, begin.elapsed().as_nanos() as u64));
        begin = Instant::now();
    };
    let service = Service::builder().address(&arguments.daemon).connect()?;
    let graph = service.plugin::<graph_protocol::Protocol>()?;
    step("connect");
    let start = || {
        let cpus: CpuSet = [arguments.worker_core].into_iter().collect();
        block_on(service.worker().any_id().plugin(graph.plugin()).cpus(cpus).start())
    };
    let worker = start()?;
    step("first-worker");
    let done = graph.task_loopback(&worker, 7).submit()?.wait()?;
    ensure!(done.data == 7, "sent 7, got {}", done.data);
    step("first-command");
    let second = start()?;
    step("second-worker");
    block_on(second.stop())?;
    step("stop-of-a-worker");
    println!("{}", serde_json::to_string(&steps)?);
    Ok(())
}
