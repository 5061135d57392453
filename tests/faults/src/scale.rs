//! The maximum of workers on one daemon, of plugins in one worker and of hosts of one daemon: all
//! are used at the same time and then stopped, and all resources are released.
//!
//! The workers come and go in ten rounds, and the daemon's memory must reach a plateau. For each
//! worker, the daemon's heap has about 13 KiB: the future of its supervisor, a queue and two
//! timers. Between rounds `mallinfo2` counts 0.25 to 0.35 MiB in use. The C library returns only
//! memory above everything in use, so the rest of the peak stays in the process as holes, which the
//! next round fills.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use rustix::process::Pid;
use urom_abi::MAX_PLUGINS;
use urom_tests::PluginDirectory;
use urom_tests::c::{Source, prefix};

use crate::ending::wait_for_end;
use crate::host::{Call, Kind, Pace};
use crate::process::HostProcess;
use crate::service::{FAULTY, Logs, Service};
use crate::suite::{Extent, Figure, Outcome};
use crate::transports::Transports;
use crate::vitals::{descriptors, returns, until, vitals};

/// Time limit for any step on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(120);

const LOOPBACK: u64 = 0;

const A_FEW: u64 = 20;

const MANY: u64 = 50_000;

pub(crate) const HOSTS: u64 = 4;

const ROUNDS: usize = 10;

/// Length of the warm-up, with all one-time allocations, in rounds.
const SETTLED: usize = 3;

/// Allowed growth of the daemon in later rounds, in KiB: holes in the heap.
const PLATEAU: u64 = 512;

/// Allowed growth of the daemon over all rounds, in KiB: the heap shrinks late.
const TOLERANCE: u64 = 4 * 1024;

pub(crate) fn run(extent: &Extent) -> Result<Outcome> {
    let logs = Logs::new()?;
    let (many, at_once) = (extent.pick(6, 256), extent.pick(6, 32));
    let (present, together) = (extent.pick(8, 1000), extent.pick(8, 64));
    let all = || -> Result<_> {
        let mut figures = workers(many, &logs)?.to_vec();
        figures.extend([plugins(&logs)?, hosts(at_once, &logs)?]);
        figures.extend(one_worker(present, together, &logs)?);
        Ok(figures)
    };
    let figures = all().with_context(|| logs.tails())?;
    let done = format!(
        "{ROUNDS} rounds of {many} workers, {MAX_PLUGINS} plugins, {at_once} hosts, {present} at one worker"
    );
    Ok(Outcome::Passed { done, figures })
}

/// Connects a host that has already started and left a worker, so that one-time allocations are
/// done.
fn host(name: &str, service: &Service) -> Result<HostProcess> {
    let mut host = service.host(name)?;
    let worker = host.start_worker(0)?;
    host.leave(0)?;
    wait_for_end(worker, LONG, "a worker that its host has left")?;
    Ok(host)
}

fn workers(count: u64, logs: &Logs) -> Result<[Figure; 2]> {
    let service = Service::start(Transports::All, logs)?;
    let mut hosts = (0..HOSTS)
        .map(|number| host(&format!("host-{number}"), &service))
        .collect::<Result<Vec<_>>>()?;
    let before = vitals(service.pid())?;
    let (mut took, mut kept) = (Duration::ZERO, Vec::new());
    for round in 0..ROUNDS {
        took = took
            .max(round_of_workers(count, &mut hosts).with_context(|| format!("round {round}"))?);
        hosts.iter().try_for_each(HostProcess::is_quiet)?;
        let closed = || Ok(descriptors(service.pid())? <= before.descriptors);
        until(LONG, "the daemon's descriptors are closed", closed)?;
        kept.push(vitals(service.pid())?.memory);
    }
    let first = kept.iter().take(SETTLED).max().copied().unwrap_or_default();
    let last = kept.iter().skip(SETTLED).max().copied().unwrap_or_default();
    ensure!(
        last <= first + PLATEAU,
        "the daemon had {} KiB before {ROUNDS} rounds of {count} workers, and after them {kept:?}: it \
         may have {PLATEAU} KiB more than in the first {SETTLED}",
        before.memory
    );
    let note = format!(
        "of {HOSTS} hosts, all at work at the same time; started in {:.1} s",
        took.as_secs_f64()
    );
    let grown = format!("of the daemon in {ROUNDS} rounds of them, above its first {SETTLED}");
    Ok([
        Figure::new("scale/workers-on-one-daemon", "", count as f64, note),
        Figure::new(
            "scale/workers-on-one-daemon/growth",
            "KiB",
            last.saturating_sub(first) as f64,
            grown,
        ),
    ])
}

fn round_of_workers(count: u64, hosts: &mut [HostProcess]) -> Result<Duration> {
    let begin = Instant::now();
    let of = |worker: u64| (worker % HOSTS) as usize;
    for worker in 1..=count {
        hosts[of(worker)].ask_for_worker(worker, &[], &[])?;
    }
    let started = |worker: u64| {
        let result = hosts[of(worker)].started(LONG, worker)?;
        result.map_err(|trouble| anyhow!("worker {worker} does not start: {}", trouble.text))
    };
    let processes: Vec<Pid> = (1..=count).map(started).collect::<Result<_>>()?;
    let took = begin.elapsed();
    for worker in 1..=count {
        hosts[of(worker)].load(worker, Kind::Busy, 1, worker)?;
    }
    for worker in 1..=count {
        hosts[of(worker)].mark(worker, A_FEW)?;
    }
    for worker in 1..=count {
        hosts[of(worker)].passed(LONG, worker, A_FEW)?;
    }
    for worker in 1..=count {
        hosts[of(worker)].halt(worker)?;
    }
    for worker in 1..=count {
        hosts[of(worker)].leave(worker)?;
    }
    for (worker, process) in (1..).zip(processes) {
        wait_for_end(process, LONG, &format!("worker {worker}, which its host has left"))?;
    }
    Ok(took)
}

/// Loads as many plugins as there are ids into one worker: one C plugin under many names, and the
/// faulty plugin.
fn plugins(logs: &Logs) -> Result<Figure> {
    let libraries = prefix()?.lib();
    let plugin = Source::new("graph_plugin.c").flag(format!("-Wl,-rpath,{}", libraries.display()));
    let plugin = plugin.plugin("worker_graph_in_c")?;
    let directory = PluginDirectory::with(&[FAULTY])?;
    let names: Vec<String> =
        (1..MAX_PLUGINS).map(|number| format!("worker_graph_{number:02}")).collect();
    for name in &names {
        // Copies: the loader treats a link to a loaded library as the same library.
        fs::copy(&plugin, directory.path().join(format!("{name}.so")))?;
    }
    let service = Service::with(directory, Transports::All, logs, |command| command)?;
    let mut host = host("host", &service)?;
    let worker = host.try_start_with(1, &names, &[])?.map_err(|trouble| {
        anyhow!("a worker with {MAX_PLUGINS} plugins does not start: {}", trouble.text)
    })?;
    host.load(1, Kind::Busy, 1, 1)?;
    for round in 0..A_FEW {
        for (number, name) in (0..).zip(&names) {
            let data = round << 32 | number;
            let (end, _) =
                host.call(1, Call::Raw { plugin: name.clone(), words: [LOOPBACK, data] }, LONG)?;
            ensure!(end == Ok(data), "{name} answers {data} with {end:?}");
        }
    }
    host.halt(1)?;
    host.leave(1)?;
    wait_for_end(worker, LONG, "the worker that its host has left")?;
    host.is_quiet()?;
    let note = format!("{} of them in C; each of them used", names.len());
    Ok(Figure::new("scale/plugins-in-one-worker", "", (names.len() + 1) as f64, note))
}

/// `count` hosts of one daemon, all at one shared worker, and each at its own.
fn hosts(count: u64, logs: &Logs) -> Result<Figure> {
    const SHARED: u64 = 1;
    let service = Service::start(Transports::All, logs)?;
    let mut keeper = host("keeper", &service)?;
    let shared = keeper.start_worker(SHARED)?;
    let before = (vitals(service.pid())?, vitals(shared)?);
    let mut hosts = (0..count)
        .map(|number| service.host(&format!("host-{number}")))
        .collect::<Result<Vec<_>>>()?;
    let mut own = Vec::new();
    for (number, host) in (0..).zip(&mut hosts) {
        ensure!(
            host.start_worker(SHARED)? == shared,
            "worker {SHARED} is one process for all hosts"
        );
        own.push(host.start_worker(SHARED + 1 + number)?);
    }
    for (number, host) in (0..).zip(&mut hosts) {
        host.load(SHARED, Kind::Busy, 4, number)?;
        host.load(SHARED + 1 + number, Kind::Busy, 4, number)?;
    }
    for (number, host) in (0..).zip(&mut hosts) {
        host.pass_within(LONG, SHARED, A_FEW)?;
        host.pass_within(LONG, SHARED + 1 + number, A_FEW)?;
    }
    for (number, host) in (0..).zip(&mut hosts) {
        for worker in [SHARED, SHARED + 1 + number] {
            host.halt(worker)?;
            host.leave(worker)?;
        }
        host.disconnect()?;
        host.is_quiet()?;
    }
    for process in own {
        wait_for_end(process, LONG, "a worker that its host has left")?;
    }
    drop(hosts);
    returns(service.pid(), "the daemon", before.0, LONG, TOLERANCE)?;
    returns(shared, "the shared worker", before.1, LONG, TOLERANCE)?;
    keeper.leave(SHARED)?;
    wait_for_end(shared, LONG, "the shared worker")?;
    let note = "each at one worker for all of them and at one of its own, all at the same time";
    Ok(Figure::new("scale/hosts-on-one-daemon", "", count as f64, note))
}

/// `count` hosts at one worker. First a single host has a command in flight, then several at the
/// same time, which share the worker's receive queue and the machine's processors.
fn one_worker(count: usize, together: usize, logs: &Logs) -> Result<Vec<Figure>> {
    const SHARED: u64 = 1;
    let service = Service::start(Transports::All, logs)?;
    let mut keeper = host("keeper", &service)?;
    let shared = keeper.start_worker(SHARED)?;
    let before = vitals(shared)?;
    let mut hosts: Vec<HostProcess> = Vec::new();
    let mut figures = Vec::new();
    for count in [1, count] {
        for number in hosts.len()..count {
            let mut host = service.host(&format!("one-of-{number}"))?;
            ensure!(
                host.start_worker(SHARED)? == shared,
                "worker {SHARED} is one process for all hosts"
            );
            hosts.push(host);
        }
        let alone = pace(&mut hosts[..1], SHARED, MANY)?;
        let name = format!("scale/one-worker/{count}-hosts/one-sends");
        figures.push(Figure::new(
            name,
            "us",
            alone[0].median.as_secs_f64() * 1e6,
            "half of its commands at most",
        ));
    }
    let grown = vitals(shared)?.memory.saturating_sub(before.memory) as f64 / count as f64;
    figures.push(Figure::new("scale/one-worker/memory-per-host", "KiB", grown, "of the worker"));
    let paces = pace(&mut hosts[..together], SHARED, A_FEW)?;
    let rate = paces.iter().map(Pace::rate).sum();
    let longest = paces.iter().map(|pace| pace.longest).max().unwrap_or_default();
    let name = |what| format!("scale/one-worker/{together}-hosts-send/{what}");
    figures.push(Figure::new(
        name("rate"),
        "/s",
        rate,
        "commands of all of them, each with one in flight",
    ));
    figures.push(Figure::new(
        name("slowest"),
        "s",
        longest.as_secs_f64(),
        "command of any of them",
    ));
    Ok(figures)
}

fn pace(hosts: &mut [HostProcess], worker: u64, commands: u64) -> Result<Vec<Pace>> {
    for (seed, host) in (0..).zip(hosts.iter_mut()) {
        host.load(worker, Kind::Busy, 1, seed)?;
    }
    hosts.iter_mut().try_for_each(|host| host.pass_within(LONG, worker, commands))?;
    hosts.iter_mut().try_for_each(|host| host.pace(worker).map(drop))?;
    hosts.iter_mut().try_for_each(|host| host.pass_within(LONG, worker, commands))?;
    let paces = hosts.iter_mut().map(|host| host.pace(worker)).collect::<Result<Vec<_>>>()?;
    hosts.iter_mut().try_for_each(|host| host.halt(worker).map(drop))?;
    Ok(paces)
}
