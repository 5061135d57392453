//! The graph plugin in Rust against the same plugin in C: both in one worker, called by one host through the same code. Clients of two
//! types would be two copies of it, and where each comes to lie makes more of a difference than the plugins do. The sandbox plugin in
//! both languages as well, in two workers of its own.

mod sandbox;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use graph_protocol::{Client, Protocol};
use serde::{Deserialize, Serialize};
use urom_abi::protocol::Protocol as _;
use urom_host::{CpuSet, Host, Service, Worker, block_on};
use urom_tests::{PluginDirectory, Uromd};

use super::loopback::round::{self, Done, Work};
use super::{Suite, in_c};
use crate::child::Child;
use crate::cores::pin;
use crate::extent::Extent;
use crate::figure::Figure;
use crate::statistics::alternate;
use crate::transport::Transport;

pub(crate) const SUITE: Suite = Suite {
    name: NAME,
    about: "a Rust plugin against the same plugin in C",
    run,
    child: Some(child),
};

const NAME: &str = "plugin-in-c";
const PEER: &str = "plugin in C";
/// How many are in flight where it is not one.
const DEPTH: u64 = 64;

/// Which plugin a launch is about.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum What {
    Graph,
    Sandbox,
}

/// What a launch is started with.
#[derive(Serialize, Deserialize)]
struct Arguments {
    what: What,
    address: String,
    transport: Transport,
    /// The host's core and the worker's.
    cores: [usize; 2],
    /// The core of the worker that receives, where there is one.
    receiver: usize,
    rounds: usize,
    round: Duration,
}

fn run(extent: &Extent) -> Result<Vec<Figure>> {
    let in_c = [(What::Graph, in_c::graph_plugin()?), (What::Sandbox, in_c::sandbox_plugin()?)];
    extent.launches(NAME, |_| {
        let mut figures = Vec::new();
        for (what, in_c) in &in_c {
            for transport in Transport::ALL {
                for _ in 0..starts(extent, *what) {
                    figures.extend(launch(extent, *what, in_c, transport)?);
                }
            }
        }
        Ok(figures)
    })
}

/// How many processes a launch starts, one after the other. Where code and memory of the two come to lie decides, once for each
/// process, about one in a hundred of a round trip, and of twenty processes the median is off by nearly as much: more than there is
/// between the languages.
fn starts(extent: &Extent, what: What) -> usize {
    match what {
        What::Graph if !extent.quick => 10,
        _ => 1,
    }
}

fn launch(extent: &Extent, what: What, in_c: &Path, transport: Transport) -> Result<Vec<Figure>> {
    let in_rust = match what {
        What::Graph => "worker_graph",
        What::Sandbox => "worker_sandbox",
    };
    let mut plugins = PluginDirectory::with(&[in_rust])?;
    plugins.add(in_c)?;
    let (variable, value) = transport.variable();
    let daemon = Uromd::start_with(plugins.variable(), |command| {
        command.args(["-l", "30"]).env(variable, value)
    })?;
    let arguments = Arguments {
        what,
        address: daemon.address().to_owned(),
        transport,
        cores: extent.cores.pair(),
        receiver: extent.cores.host(1),
        rounds: extent.rounds(),
        round: extent.round(),
    };
    let mut host = Child::start(NAME, &arguments, |command| command.env(variable, value))?;
    let figures = host.answer()?;
    host.finish()?;
    ensure!(daemon.stop()?.success(), "uromd did not end in order");
    Ok(figures)
}

/// The host of one launch.
fn child(arguments: &str) -> Result<()> {
    let arguments: Arguments =
        serde_json::from_str(arguments).context("what a launch is started with")?;
    let figures = match arguments.what {
        What::Graph => graph(&arguments)?,
        What::Sandbox => sandbox::measure(&arguments)?,
    };
    println!("{}", serde_json::to_string(&figures)?);
    Ok(())
}

fn graph(arguments: &Arguments) -> Result<Vec<Figure>> {
    let service = Service::builder().address(&arguments.address).connect()?;
    let in_rust = service.plugin::<Protocol>()?;
    let of_c = service.plugin_named(in_c::GRAPH)?;
    ensure!(
        of_c.version() == Protocol::VERSION,
        "the plugin in C is of version {}",
        of_c.version()
    );
    let in_c = Protocol::client::<Host>(of_c);
    let cpus: CpuSet = [arguments.cores[1]].into_iter().collect();
    let builder =
        service.worker().any_id().plugin(in_rust.plugin()).plugin(in_c.plugin()).cpus(cpus);
    let worker = block_on(builder.max_inflight(DEPTH as u32).start())?;
    pin(arguments.cores[0]).context("cannot pin the host to its core")?;
    let mut figures = Vec::new();
    for (what, depth) in [("round-trip", 1), ("in-flight", DEPTH)] {
        let (trips_in_rust, trips_in_c) = (
            calibrate(&in_rust, &worker, depth, arguments)?,
            calibrate(&in_c, &worker, depth, arguments)?,
        );
        let rounds = alternate(
            arguments.rounds,
            || each(&in_rust, &worker, trips_in_rust, depth),
            || each(&in_c, &worker, trips_in_c, depth),
        )?;
        let name = format!("{NAME}/{what}/{}/{depth}", arguments.transport.name());
        figures.push(Figure::in_turns(name, "ns", PEER, &rounds).context("no round was measured")?);
    }
    Ok(figures)
}

/// Nanoseconds a command in one round.
fn each(client: &Client<Host>, worker: &Worker, trips: u64, depth: u64) -> Result<f64> {
    let Done { begin, end, .. } = round::kit(client, worker, Work { trips, depth, single: false })?;
    Ok((end - begin) as f64 / trips as f64)
}

/// How many trips a round's time is enough for.
fn calibrate(
    client: &Client<Host>,
    worker: &Worker,
    depth: u64,
    arguments: &Arguments,
) -> Result<u64> {
    let first = 1_000;
    let each = each(client, worker, first, depth)?;
    Ok(((arguments.round.as_nanos() as f64 / each) as u64).max(first))
}
