//! One launch: a service, a worker with two plugins, and rounds of raw UCX and of the kit in alternating order between
//! the same two threads.

use std::collections::VecDeque;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, ensure};
use bench_protocol::ADDRESS;
use bench_raw::{Peer, STOP};
use graph_protocol::Client as Graph;
use serde::{Deserialize, Serialize};
use urom_abi::cpu::CpuSet;
use urom_host::{Host, Service, Worker, block_on};
use urom_tests::{PluginDirectory, Uromd};

use crate::{Transport, cache_line};

/// The host's core and the worker's.
const CORES: [usize; 2] = [0, 1];
/// How many commands are in flight when a rate is measured.
const DEPTH: u64 = 64;

/// What one launch measured: medians over its rounds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Figures {
    pub(crate) transport: Transport,
    pub(crate) cache_line_ns: f64,
    pub(crate) raw_round_trip_ns: f64,
    pub(crate) kit_round_trip_ns: f64,
    pub(crate) raw_per_second: f64,
    pub(crate) kit_per_second: f64,
}

/// How much is measured.
struct Extent {
    rounds: usize,
    trips: u64,
    in_flight: u64,
}

fn extent(transport: Transport, quick: bool) -> Extent {
    let scale = if quick { 1 } else { 5 };
    match transport {
        Transport::SharedMemory => {
            Extent { rounds: 5 * scale, trips: 20_000 * scale as u64, in_flight: 100_000 * scale as u64 }
        }
        Transport::Tcp => {
            Extent { rounds: 5 * scale, trips: 2_000 * scale as u64, in_flight: 20_000 * scale as u64 }
        }
    }
}

/// Measures in this process, with the transport that its `UCX_TLS` allows.
pub(crate) fn run(transport: Transport, quick: bool) -> Result<Figures> {
    let cache_line_ns =
        cache_line::round_trip(CORES).context("cannot pin a thread to a core")?.as_nanos() as f64;
    let plugins = PluginDirectory::with(&["worker_graph", "worker_benchpeer"])?;
    let daemon = Uromd::start_with(plugins.variable(), |command| command.args(["-l", "30"]))?;
    let service = Service::builder().address(daemon.address()).connect()?;
    let graph = service.plugin::<graph_protocol::Protocol>()?;
    let peer = service.plugin::<bench_protocol::Protocol>()?;
    let cpus: CpuSet = [CORES[1]].into_iter().collect();
    let builder = service.worker().any_id().plugin(graph.plugin()).plugin(peer.plugin()).cpus(cpus);
    let worker = block_on(builder.max_inflight(DEPTH as u32).start())?;
    cache_line::pin(CORES[0]).context("cannot pin the host to its core")?;
    let raw = connect(&peer, &worker)?;

    let extent = extent(transport, quick);
    kit_round_trips(&graph, &worker, extent.trips)?;
    let [raw_round_trip_ns, kit_round_trip_ns] = alternate(
        extent.rounds,
        || in_raw_round(&peer, &worker, &raw, || raw.round_trips(extent.trips, 1)),
        || timed(|| kit_round_trips(&graph, &worker, extent.trips)),
    )?
    .map(|seconds| seconds * 1e9 / extent.trips as f64);
    let [raw_per_second, kit_per_second] = alternate(
        extent.rounds,
        || in_raw_round(&peer, &worker, &raw, || raw.round_trips(extent.in_flight, DEPTH)),
        || timed(|| kit_in_flight(&graph, &worker, extent.in_flight)),
    )?
    .map(|seconds| extent.in_flight as f64 / seconds);

    drop(worker);
    drop(service);
    ensure!(daemon.stop()?.success(), "uromd did not end in order");
    Ok(Figures {
        transport,
        cache_line_ns,
        raw_round_trip_ns,
        kit_round_trip_ns,
        raw_per_second,
        kit_per_second,
    })
}

/// Connects raw UCX of this process with raw UCX of the worker's.
fn connect(peer: &bench_protocol::Client<Host>, worker: &Worker) -> Result<Peer> {
    let mut raw = Peer::new().map_err(|what| anyhow!(what))?;
    let theirs = peer.task_prepare(worker).submit()?.wait()?;
    raw.connect(&theirs.address[..theirs.length as usize]).map_err(|what| anyhow!(what))?;
    let ours = raw.address().map_err(|what| anyhow!(what))?;
    let mut address = [0; ADDRESS];
    address.get_mut(..ours.len()).context("this process's UCX address is too long")?.copy_from_slice(&ours);
    peer.task_connect(worker, address, ours.len() as u64).submit()?.wait()?;
    Ok(raw)
}

/// Runs `measured` while the worker's thread does nothing but answer raw requests. Returns seconds.
fn in_raw_round(
    peer: &bench_protocol::Client<Host>,
    worker: &Worker,
    raw: &Peer,
    measured: impl FnOnce(),
) -> Result<f64> {
    let serving = peer.task_serve(worker).submit()?;
    // The first trips wait for the worker to take the command, and warm the caches.
    raw.round_trips(1_000, 1);
    let seconds = timed(|| {
        measured();
        Ok(())
    })?;
    raw.send(STOP);
    raw.progress();
    serving.wait()?;
    Ok(seconds)
}

fn timed(measured: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    measured()?;
    Ok(start.elapsed().as_secs_f64())
}

fn kit_round_trips(graph: &Graph<Host>, worker: &Worker, count: u64) -> Result<()> {
    for data in 0..count {
        let done = graph.task_loopback(worker, data).submit()?.wait()?;
        ensure!(done.data == data, "sent {data}, got {}", done.data);
    }
    Ok(())
}

fn kit_in_flight(graph: &Graph<Host>, worker: &Worker, count: u64) -> Result<()> {
    let mut in_flight = VecDeque::with_capacity(DEPTH as usize);
    for data in 0..count {
        if in_flight.len() as u64 == DEPTH
            && let Some((sent, task)) = in_flight.pop_front()
        {
            check(sent, task)?;
        }
        in_flight.push_back((data, graph.task_loopback(worker, data).submit()?));
    }
    in_flight.into_iter().try_for_each(|(sent, task)| check(sent, task))
}

fn check(sent: u64, task: urom_host::Completion<graph_protocol::Loopback>) -> Result<()> {
    let got = task.wait()?.data;
    ensure!(got == sent, "sent {sent}, got {got}");
    Ok(())
}

/// Runs two measurements `rounds` times, now this first and now that. Returns the median of each.
fn alternate(
    rounds: usize,
    mut a: impl FnMut() -> Result<f64>,
    mut b: impl FnMut() -> Result<f64>,
) -> Result<[f64; 2]> {
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        if round % 2 == 0 {
            times[0].push(a()?);
            times[1].push(b()?);
        } else {
            times[1].push(b()?);
            times[0].push(a()?);
        }
    }
    Ok(times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    }))
}
