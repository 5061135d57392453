//! The graph plugin in Rust against the same plugin in C: both in one worker, called by one host through clients that are the
//! same code.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use urom_host::{CpuSet, Service, Worker, block_on};
use urom_tests::{PluginDirectory, Uromd};

use super::loopback::round::{self, Done, Loopbacks, Work};
use super::{Suite, in_c};
use crate::child::Child;
use crate::cores::pin;
use crate::extent::Extent;
use crate::figure::Figure;
use crate::statistics::{alternate, median};
use crate::transport::Transport;

pub(crate) const SUITE: Suite =
    Suite { name: NAME, about: "a Rust plugin against the same plugin in C", run, child: Some(child) };

const NAME: &str = "plugin-in-c";
const PEER: &str = "plugin in C";
/// How many are in flight where it is not one.
const DEPTH: u64 = 64;

/// What a launch is started with.
#[derive(Serialize, Deserialize)]
struct Arguments {
    address: String,
    transport: Transport,
    /// The host's core and the worker's.
    cores: [usize; 2],
    rounds: usize,
    round: Duration,
}

fn run(extent: &Extent) -> Result<Vec<Figure>> {
    let in_c = in_c::graph_plugin()?;
    extent.launches(NAME, |_| {
        let mut figures = Vec::new();
        for transport in Transport::ALL {
            let mut plugins = PluginDirectory::with(&["worker_graph"])?;
            plugins.add(&in_c)?;
            let (variable, value) = transport.variable();
            let daemon = Uromd::start_with(plugins.variable(), |command| {
                command.args(["-l", "30"]).env(variable, value)
            })?;
            let arguments = Arguments {
                address: daemon.address().to_owned(),
                transport,
                cores: extent.cores.pair(),
                rounds: extent.rounds(),
                round: extent.round(),
            };
            let mut host = Child::start(NAME, &arguments, |command| command.env(variable, value))?;
            figures.extend(host.answer::<Vec<Figure>>()?);
            host.finish()?;
            ensure!(daemon.stop()?.success(), "uromd did not end in order");
        }
        Ok(figures)
    })
}

/// The host of one launch.
fn child(arguments: &str) -> Result<()> {
    let arguments: Arguments = serde_json::from_str(arguments).context("what a launch is started with")?;
    let service = Service::builder().address(&arguments.address).connect()?;
    let in_rust = service.plugin::<graph_protocol::Protocol>()?;
    let in_c = service.plugin::<bench_protocol::graph_in_c::Protocol>()?;
    let cpus: CpuSet = [arguments.cores[1]].into_iter().collect();
    let builder = service.worker().any_id().plugin(in_rust.plugin()).plugin(in_c.plugin()).cpus(cpus);
    let worker = block_on(builder.max_inflight(DEPTH as u32).start())?;
    pin(arguments.cores[0]).context("cannot pin the host to its core")?;
    let mut figures = Vec::new();
    for (what, depth) in [("round-trip", 1), ("in-flight", DEPTH)] {
        let (trips_in_rust, trips_in_c) =
            (calibrate(&in_rust, &worker, depth, &arguments)?, calibrate(&in_c, &worker, depth, &arguments)?);
        let [in_rust, in_c] = alternate(
            arguments.rounds,
            || each(&in_rust, &worker, trips_in_rust, depth),
            || each(&in_c, &worker, trips_in_c, depth),
        )?
        .map(|rounds| median(&rounds));
        let (in_rust, in_c) = in_rust.zip(in_c).context("no round was measured")?;
        let name = format!("{NAME}/{what}/{}/{depth}", arguments.transport.name());
        figures.push(Figure::new(name, "ns", in_rust).against(PEER, in_c));
    }
    println!("{}", serde_json::to_string(&figures)?);
    Ok(())
}

/// Nanoseconds a command in one round.
fn each<L: Loopbacks>(client: &L, worker: &Worker, trips: u64, depth: u64) -> Result<f64> {
    let Done { begin, end, .. } = round::kit(client, worker, Work { trips, depth, single: false })?;
    Ok((end - begin) as f64 / trips as f64)
}

/// How many trips a round's time is enough for.
fn calibrate<L: Loopbacks>(client: &L, worker: &Worker, depth: u64, arguments: &Arguments) -> Result<u64> {
    let first = 1_000;
    let each = each(client, worker, first, depth)?;
    Ok(((arguments.round.as_nanos() as f64 / each) as u64).max(first))
}
