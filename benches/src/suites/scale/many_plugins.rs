//! The cost of a command as more plugins are in its worker, which have nothing to do: in Rust and
//! in C.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use bench_codec::in_c;
use urom_host::Plugin;
use urom_tests::{PluginDirectory, built};

use super::NAME;
use crate::cores::pin;
use crate::figure::Figure;
use crate::launch::{Daemon, Launch, worker};
use crate::statistics::of_rounds;
use crate::suites::loopback::round::{self, Work};

/// The most that a worker takes, the plugin under measurement included.
const MOST: usize = 62;
const COUNTS: [usize; 3] = [1, 8, MOST];

pub(super) fn measure(launch: &Launch) -> Result<Vec<Figure>> {
    let plugins = [("rust", built("libworker_graph.so")?), ("c", in_c::plugin("graph")?)];
    // Both before this thread is pinned, which a daemon would inherit.
    let daemons = plugins.map(|(language, plugin)| (language, daemon(&plugin)));
    let mut figures = Vec::new();
    for (language, daemon) in daemons {
        let daemon = daemon?;
        let mut alone = None;
        for count in COUNTS {
            let ns = round_trip(launch, &daemon, count - 1)?;
            let name = format!("{NAME}/round-trip-with-plugins/{language}/{count}");
            let figure = Figure::new(name, "ns", ns);
            figures.push(match alone {
                None => figure.note("over shared memory"),
                Some(alone) => figure.against("one plugin", alone).note("the others have no work"),
            });
            alone.get_or_insert(ns);
        }
    }
    let figure = Figure::new(format!("{NAME}/plugins-in-one-worker"), "", MOST as f64);
    figures.push(figure.note("open in the worker of the last measurements"));
    Ok(figures)
}

/// A daemon with the plugin under measurement and copies of another.
fn daemon(plugin: &Path) -> Result<Daemon> {
    let plugins = PluginDirectory::with(&["worker_graph"])?;
    for number in 1..MOST {
        // A copy, so that each is loaded by itself.
        let copy = plugins.path().join(format!("{}.so", name(number)));
        std::fs::copy(plugin, &copy).with_context(|| plugin.display().to_string())?;
    }
    Daemon::start(plugins, |command| command)
}

fn name(number: usize) -> String {
    format!("copy_{number:02}")
}

/// Nanoseconds of a loopback in a worker with some other plugins.
fn round_trip(launch: &Launch, daemon: &Daemon, others: usize) -> Result<f64> {
    let service = daemon.connect()?;
    ensure!(service.plugins().len() == MOST, "the service has {} plugins", service.plugins().len());
    let graph = service.plugin::<graph_protocol::Protocol>()?;
    let others = (1..=others).map(|number| service.plugin_named(&name(number)));
    let others = others.collect::<urom_host::Result<Vec<Plugin>>>()?;
    let plugins: Vec<&Plugin> = [graph.plugin()].into_iter().chain(&others).collect();
    let worker = worker(&service, &plugins, launch.cores.worker())?;
    pin(launch.cores.host(0))?;
    let round = |trips| -> Result<f64> {
        let work = Work { trips, depth: 1, single: false };
        Ok(round::kit(&graph, &worker, work)?.each(trips))
    };
    let trips = launch.trips(round(1_000)?, 1_000);
    of_rounds(&(0..launch.rounds()).map(|_| round(trips)).collect::<Result<Vec<_>>>()?)
}
