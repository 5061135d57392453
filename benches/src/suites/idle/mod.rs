//! A worker that has nothing to do: how much of a core it takes, and how soon it answers the first command after a pause.
//!
//! UCX and the machine have their part in the latter. Beside it stand raw UCX between the same two threads, which sleep until they are
//! woken, and two threads on the same two cores that wake each other through the kernel, without UCX and without a worker: by an event,
//! or by a connection over the loopback device. Who asks looks for the answer for 50 us before it sleeps, as a host does over shared memory;
//! over TCP a host looks longer.

mod host;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use urom_tests::{PluginDirectory, Uromd};

use self::host::{Arguments, Latencies, Order};
use super::Suite;
use crate::child::Child;
use crate::distribution::Recorder;
use crate::extent::Extent;
use crate::figure::Figure;
use crate::processes;
use crate::transport::Transport;

pub(crate) const SUITE: Suite = Suite {
    name: NAME,
    about: "the CPU of an idle worker, and the first command after a pause",
    run,
    child: Some(host::run),
};

const NAME: &str = "idle";

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
    let plugins = PluginDirectory::with(&["worker_graph", "worker_benchpeer"])?;
    let daemon = Uromd::start_with(plugins.variable(), |command| {
        command.args(["-l", "30"]).env(variable, value)
    })?;
    let arguments = Arguments {
        daemon: daemon.address().to_owned(),
        transport,
        core: extent.cores.host(0),
        worker_core: extent.cores.worker(),
    };
    let mut host = Child::start(NAME, &arguments, |command| command.env(variable, value))?;
    let pauses = if extent.quick { 40 } else { 100 };
    let latencies: Latencies = host.ask(&Order { pauses })?;
    let workers = processes::children(daemon.pid())?;
    let [worker] = workers[..] else {
        anyhow::bail!("the daemon has {} children, and one worker", workers.len())
    };
    let cpu = cpu(worker, Duration::from_secs(if extent.quick { 1 } else { 3 }))?;
    host.finish()?;
    ensure!(daemon.stop()?.success(), "uromd did not end in order");

    let spread = |samples: &[u64]| {
        let mut recorder = Recorder::new();
        samples.iter().for_each(|sample| recorder.record(*sample));
        recorder.finish()
    };
    let (commands, threads) = (spread(&latencies.commands), spread(&latencies.threads));
    let (spinning, raw) = (spread(&latencies.spinning), spread(&latencies.raw));
    let peer = match transport {
        Transport::SharedMemory => "two threads that wake each other",
        Transport::Tcp => "two threads that wake each other over TCP",
    };
    let figure = |name: &str, of: fn(&crate::distribution::Distribution) -> u64| {
        let name = format!("{NAME}/{name}/{}", transport.name());
        Figure::new(name, "us", of(&commands) as f64 / 1e3).against(peer, of(&threads) as f64 / 1e3)
    };
    let cpu_name = format!("{NAME}/cpu/{}", transport.name());
    let by_itself = |name: &str, ns: u64| {
        Figure::new(format!("{NAME}/{name}/{}", transport.name()), "us", ns as f64 / 1e3)
    };
    Ok(vec![
        Figure::new(cpu_name, "%", cpu * 100.0).note("of a core, all threads of the worker, host connected"),
        figure("first-command/median", |spread| spread.p50)
            .histograms(Some(commands.clone()), Some(threads.clone()))
            .note("after pauses of 5 to 70 ms; the host spins for 50 us, then sleeps, too"),
        figure("first-command/99-percent", |spread| spread.p99).note("of the same commands"),
        by_itself("raw-ucx/median", raw.p50)
            .histograms(Some(raw.clone()), None)
            .note("raw UCX between the same two threads, asleep until they are woken; the kit's worker looks for work now and then"),
        by_itself("raw-ucx/99-percent", raw.p99).note("of the same messages"),
        by_itself("spinning-host/median", spinning.p50).note("the kit where the host never sleeps"),
        by_itself("spinning-host/99-percent", spinning.p99).note("of the same commands"),
        figure("worst-first-command", |spread| spread.max)
            .note("the median of the launches' worst; for information, as others run on the machine, too"),
    ])
}

/// The part of a core that a process takes.
fn cpu(pid: rustix::process::Pid, time: Duration) -> Result<f64> {
    let busy = || processes::busy(pid).context("the worker is gone");
    let (begin, before) = (Instant::now(), busy()?);
    std::thread::sleep(time);
    let (after, elapsed) = (busy()?, begin.elapsed());
    Ok(after.saturating_sub(before).as_secs_f64() / elapsed.as_secs_f64())
}
