//! A worker without work: its share of a core, and the time of the first command after a pause.
//!
//! Raw UCX between the same two threads sleeps until it is woken. Two bare threads on the same
//! cores wake each other by an event, or over the loopback device where the kit has TCP. The asking
//! side polls for 50 us before it sleeps, as a host does over shared memory; over TCP a host polls
//! longer.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bench_raw::{Kind, STOP, Style};
use rustix::process::Pid;

use super::loopback::host::connect;
use super::sleeper::Sleeper;
use super::{Part, Suite};
use crate::cores::pin;
use crate::distribution::{Distribution, Recorder};
use crate::figure::Figure;
use crate::launch::{Launch, worker};
use crate::processes;
use crate::transport::Transport;

pub(crate) const SUITE: Suite = Suite {
    name: "idle",
    about: "the CPU of an idle worker, and the first command after a pause",
    parts: &[Part::new(measure)],
    process: None,
};

/// How long a host of the kit polls over shared memory before it sleeps.
const HOST_SPINS: Duration = Duration::from_micros(50);

fn measure(launch: &Launch) -> Result<Vec<Figure>> {
    let transport = launch.transport;
    let daemon = launch.daemon(&["worker_graph", "worker_benchpeer"])?;
    let service = daemon.connect()?;
    let graph = service.plugin::<graph_protocol::Protocol>()?;
    let bench = service.plugin::<bench_protocol::Protocol>()?;
    let plugins = [graph.plugin(), bench.plugin()];
    let worker = worker(&service, &plugins, launch.cores.worker())?;
    let sleeper = Sleeper::start(transport, launch.cores.worker())?;
    pin(launch.cores.host(0))?;
    // The settings are about shared memory, and would have UCX use it.
    let same_settings = transport == Transport::SharedMemory;
    let kind = Kind { same_settings, sleeps: true, ..Kind::default() };
    let peer = connect(&bench, &worker, 0, kind)?;

    let loopback = |spins| -> Result<()> {
        const DATA: u64 = 7;
        let sent = graph.task_loopback(&worker, DATA).submit()?;
        while spins && !sent.is_complete() {
            worker.engine().progress();
        }
        let done = sent.wait()?;
        ensure!(done.data == DATA, "sent {DATA}, got {}", done.data);
        Ok(())
    };
    // Raw UCX has the worker's thread meanwhile.
    let raw = |number| -> Result<u64> {
        let serve = bench.task_serve(&worker, kind, Style::AtOnce, 0).submit()?;
        // The command may still wait to leave.
        worker.engine().progress();
        let time = after_a_pause(number, || peer.round_trip_asleep());
        peer.send(STOP);
        peer.progress();
        serve.wait()?;
        time
    };
    // So that nothing is done for the first time.
    (0..1_000).try_for_each(|_| loopback(false))?;
    let mut recorders = [(); 4].map(|()| Recorder::new());
    for number in 0..if launch.quick { 40 } else { 100 } {
        recorders[0].record(after_a_pause(number, || loopback(false))?);
        recorders[1].record(after_a_pause(number, || sleeper.wake_and_look(HOST_SPINS))?);
        recorders[2].record(raw(number)?);
        recorders[3].record(after_a_pause(number, || loopback(true))?);
    }
    let [commands, threads, raw, spinning] = recorders.map(Recorder::finish);
    let seconds = Duration::from_secs(if launch.quick { 1 } else { 3 });
    let cpu = cpu(processes::only_child(daemon.pid())?, seconds)?;

    let with = match transport {
        Transport::SharedMemory => "two threads that wake each other",
        Transport::Tcp => "two threads that wake each other over TCP",
    };
    let us = |ns: u64| ns as f64 / 1e3;
    let figure = |name: &str, value| {
        Figure::new(format!("idle/{name}/{}", transport.name()), "us", us(value))
    };
    let beside_threads = |name, of: fn(&Distribution) -> u64| {
        figure(name, of(&commands)).against(with, us(of(&threads)))
    };
    let of_a_core = Figure::new(format!("idle/cpu/{}", transport.name()), "%", cpu * 100.0);
    Ok(vec![
        of_a_core.note("of a core, all threads of the worker, with a connected host"),
        beside_threads("first-command/median", |spread| spread.p50)
            .histograms(Some(commands.clone()), Some(threads.clone()))
            .note("after pauses of 5 to 70 ms; the host polls for 50 us, then sleeps too"),
        beside_threads("first-command/99-percent", |spread| spread.p99),
        figure("raw-ucx/median", raw.p50)
            .histograms(Some(raw.clone()), None)
            .note("raw UCX between the same two threads, asleep until they are woken"),
        figure("spinning-host/median", spinning.p50).note("the kit with a host that never sleeps"),
    ])
}

/// Times `work` after a pause, in nanoseconds. Pauses of different lengths end at different moments
/// of the worker's sleep. The same work comes before the pause, so that it does not matter what was
/// measured last.
fn after_a_pause(number: u64, work: impl Fn() -> Result<()>) -> Result<u64> {
    work()?;
    std::thread::sleep(Duration::from_millis(5 + number * 29 % 66));
    let begin = Instant::now();
    work()?;
    Ok(begin.elapsed().as_nanos() as u64)
}

fn cpu(pid: Pid, time: Duration) -> Result<f64> {
    let busy = || processes::busy(pid).context("the worker is gone");
    let (begin, before) = (Instant::now(), busy()?);
    std::thread::sleep(time);
    let (after, elapsed) = (busy()?, begin.elapsed());
    Ok(after.saturating_sub(before).as_secs_f64() / elapsed.as_secs_f64())
}
