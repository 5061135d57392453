//! A thousand hosts connect to one daemon within a second and stay, beside 256 workers and hosts
//! that always send commands. They cost the daemon only control connections, so few processes play
//! them.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use urom_wire::key::Key;

use crate::crowd::Crowd;
use crate::host::Kind;
use crate::scale::{HOSTS, LONG};
use crate::service::{Logs, Service, key_file};
use crate::suite::{Extent, Figure, Outcome};
use crate::vitals::vitals;

/// Time limit for a command of a connected host, in seconds.
const COMMAND: f64 = 1.0;

/// Time limit for a turn of the daemon's loop, in milliseconds.
const TURN: f64 = 50.0;

pub(crate) fn run(extent: &Extent) -> Result<Outcome> {
    let logs = Logs::new()?;
    let (many, workers, busy) = (extent.pick(250, 1000), extent.pick(4, 256), extent.pick(2, 32));
    let mut figures = Vec::new();
    for keyed in [false, true] {
        let throng = throng(many, workers, busy, keyed, &logs);
        figures.extend(throng.with_context(|| logs.tails())?);
    }
    let done = format!("{many} hosts beside {workers} workers and {busy} hosts at work, twice");
    Ok(Outcome::Passed { done, figures })
}

fn throng(many: usize, workers: u64, busy: u64, keyed: bool, logs: &Logs) -> Result<Vec<Figure>> {
    let what = if keyed { "with-a-key" } else { "without-a-key" };
    let keys = TempDir::new()?;
    let file = key_file(&keys)?;
    let service = Service::start_with(logs, |command| {
        // At this level the daemon logs the turns of its loop.
        command.args(["--log-level", "60", "--max-hosts", "2048"]);
        if keyed { command.arg("--key-file").arg(&file) } else { command }
    })?;
    let daemon = service.pid();
    let key = if keyed { Some(Key::read(&file)?) } else { None };
    let start = |number: u64| {
        service.host_with(&format!("{what}-{number}"), |command| {
            if keyed { command.env("UROM_KEY_FILE", &file) } else { command }
        })
    };
    let mut keepers = (0..HOSTS).map(start).collect::<Result<Vec<_>>>()?;
    let before = vitals(daemon)?;
    let keeper = |worker: u64| (worker % HOSTS) as usize;
    for worker in 1..=workers {
        keepers[keeper(worker)].ask_for_worker(worker, &[], &[])?;
    }
    for worker in 1..=workers {
        let started = keepers[keeper(worker)].started(LONG, worker)?;
        ensure!(started.is_ok(), "worker {worker}: {started:?}");
    }
    let with_workers = vitals(daemon)?;
    let mut hosts = (0..busy).map(|number| start(HOSTS + number)).collect::<Result<Vec<_>>>()?;
    for (number, host) in (0..).zip(&mut hosts) {
        let worker = 10_000 + number;
        host.start_worker(worker)?;
        host.load(worker, Kind::Busy, 1, number)?;
        host.pass_within(LONG, worker, 10)?;
        host.pace(worker)?;
    }
    let before_crowd = vitals(daemon)?;
    let begin = Instant::now();
    let (mut crowd, took) = Crowd::come(service.address().parse()?, key.as_ref(), many, || Ok(()))?;
    // They stay for longer than the timeout for a silent peer.
    while begin.elapsed() < Duration::from_millis(4500) {
        for (number, host) in (0..).zip(&mut hosts) {
            host.pass_within(LONG, 10_000 + number, 10)?;
        }
    }
    crowd.is_there()?;
    let with_crowd = vitals(daemon)?;
    let mut slowest = Duration::ZERO;
    for (number, host) in (0..).zip(&mut hosts) {
        slowest = slowest.max(host.pace(10_000 + number)?.longest);
        host.halt(10_000 + number)?;
    }
    drop(crowd);
    drop(hosts);
    drop(keepers);
    service.end()?;
    let turn = logs.longest_turn("uromd")?;
    let per = |after: u64, before: u64, count: u64| {
        after.saturating_sub(before) as f64 / count.max(1) as f64
    };
    let figure = |name: &str, unit, value, note: &str| {
        Figure::new(format!("throng/{what}/{name}"), unit, value, note)
    };
    Ok(vec![
        figure("welcome", "s", took.as_secs_f64(), "until the last of them was welcomed"),
        figure("slowest-command", "s", slowest.as_secs_f64(), "of hosts at work meanwhile")
            .at_most(COMMAND),
        figure("longest-turn", "ms", turn.as_secs_f64() * 1e3, "of the daemon's loop")
            .at_most(TURN),
        figure(
            "memory-per-host",
            "KiB",
            per(with_crowd.memory, before_crowd.memory, many as u64),
            "of the daemon",
        ),
        figure(
            "memory-per-worker",
            "KiB",
            per(with_workers.memory, before.memory, workers),
            "of the daemon",
        ),
    ])
}
