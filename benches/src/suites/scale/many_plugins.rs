//! What a command costs as more plugins are in its worker, which have nothing to do but are there: in Rust and in C.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use urom_host::{CpuSet, Service, block_on};
use urom_tests::{PluginDirectory, Uromd, profile_directory};

use super::{NAME, Role, SHORT_STARTS};
use crate::child::Child;
use crate::cores::pin;
use crate::extent::Extent;
use crate::figure::Figure;
use crate::statistics::median;
use crate::suites::in_c;
use crate::suites::loopback::round::{self, Work};
use crate::transport::Transport;

/// As many as there can be, the one under measurement included.
const MOST: usize = 62;
const COUNTS: [usize; 3] = [1, 8, MOST];

/// What the host is started with.
#[derive(Serialize, Deserialize)]
pub(super) struct Arguments {
    daemon: String,
    /// How many copies are in the worker beside the plugin that is used.
    others: usize,
    rounds: usize,
    round: Duration,
    core: usize,
    worker_core: usize,
}

pub(super) fn measure(extent: &Extent) -> Result<Vec<Figure>> {
    let in_rust = profile_directory()?.join("libworker_graph.so");
    let in_c = in_c::graph_plugin()?;
    let mut figures = vec![];
    for (language, plugin) in [("rust", in_rust), ("c", in_c)] {
        let copies = TempDir::new()?;
        let mut plugins = PluginDirectory::with(&["worker_graph"])?;
        for number in 1..MOST {
            plugins.add(&copied(&plugin, copies.path(), number)?)?;
        }
        let mut alone = None;
        for count in COUNTS {
            let ns = round_trip(extent, &plugins, count - 1)?;
            let name = format!("{NAME}/round-trip-with-plugins/{language}/{count}");
            let figure = Figure::new(name, "ns", ns);
            figures.push(match alone {
                None => figure.note("over shared memory"),
                Some(alone) => {
                    figure.against("one plugin", alone).note("all but one have nothing to do")
                }
            });
            alone.get_or_insert(ns);
        }
    }
    figures.push(
        Figure::new(format!("{NAME}/plugins-in-one-worker"), "", MOST as f64)
            .note("that were open in the worker of the last measurements"),
    );
    Ok(figures)
}

/// A copy, so that each is loaded by itself.
fn copied(plugin: &Path, directory: &Path, number: usize) -> Result<PathBuf> {
    let copy = directory.join(format!("{}.so", name(number)));
    std::fs::copy(plugin, &copy).with_context(|| format!("cannot copy {}", plugin.display()))?;
    Ok(copy)
}

fn name(number: usize) -> String {
    format!("copy_{number:02}")
}

/// Nanoseconds of a loopback with so many other plugins in the worker.
fn round_trip(extent: &Extent, plugins: &PluginDirectory, others: usize) -> Result<f64> {
    let (variable, value) = Transport::SharedMemory.variable();
    let daemon = Uromd::start_with(plugins.variable(), |command| {
        command.args(["-l", "30"]).env(variable, value).envs(SHORT_STARTS)
    })?;
    let role = Role::Plugins(Arguments {
        daemon: daemon.address().to_owned(),
        others,
        rounds: extent.rounds(),
        round: extent.round(),
        core: extent.cores.host(0),
        worker_core: extent.cores.worker(),
    });
    let mut host =
        Child::start(NAME, &role, |command| command.env(variable, value).envs(SHORT_STARTS))?;
    let ns = host.answer()?;
    host.finish()?;
    ensure!(daemon.stop()?.success(), "uromd did not end in order");
    Ok(ns)
}

pub(super) fn child(arguments: &Arguments) -> Result<()> {
    let service = Service::builder().address(&arguments.daemon).connect()?;
    ensure!(service.plugins().len() == MOST, "the service has {} plugins", service.plugins().len());
    let graph = service.plugin::<graph_protocol::Protocol>()?;
    let cpus: CpuSet = [arguments.worker_core].into_iter().collect();
    let mut builder = service.worker().any_id().plugin(graph.plugin()).cpus(cpus);
    for number in 1..=arguments.others {
        builder = builder.plugin(service.plugin_named(&name(number))?);
    }
    let worker = block_on(builder.start())?;
    pin(arguments.core).context("cannot pin the host to its core")?;
    let round = |trips| -> Result<f64> {
        let done = round::kit(&graph, &worker, Work { trips, depth: 1, single: false })?;
        Ok((done.end - done.begin) as f64 / trips as f64)
    };
    let first = 1_000;
    let trips = ((arguments.round.as_nanos() as f64 / round(first)?) as u64).max(first);
    let rounds = (0..arguments.rounds).map(|_| round(trips)).collect::<Result<Vec<_>>>()?;
    println!("{}", median(&rounds).context("no round was measured")?);
    Ok(())
}
