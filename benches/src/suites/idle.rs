//! An idle worker: its share of a core, and the time of the first command after a pause.
//!
//! Raw UCX between the same two threads sleeps until it is woken. Its client polls for 50 us before
//! it sleeps, as a host does over shared memory; over TCP a host polls longer.

use std::time::{Duration, Instant};

use anyhow::Result;
use bench_raw::{Kind, Style};

use crate::distribution::Distribution;
use crate::figure::Figure;
use crate::launch::Launch;
use crate::party::{PLUGINS, Party, answered};
use crate::processes;

pub(super) fn measure(launch: &Launch) -> Result<Vec<Figure>> {
    let mut party = Party::of(launch, launch.daemon(&PLUGINS)?, Kind::Asleep)?;
    // First-use work is done here.
    (0..1_000).try_for_each(|data| party.loopback(data))?;
    let [mut commands, mut raw, mut spinning] = [(); 3].map(|()| Distribution::new());
    for number in 0..if launch.quick { 40 } else { 100 } {
        commands.record(after_a_pause(number, || party.loopback(7))?);
        party.serve(Style::AtOnce)?;
        raw.record(after_a_pause(number, || party.raw.round_trip_asleep())?);
        party.end_serve()?;
        spinning.record(after_a_pause(number, || {
            let sent = party.graph.task_loopback(&party.worker, 7).submit()?;
            while !sent.is_complete() {
                party.worker.engine().progress();
            }
            answered(7, sent)
        })?);
    }
    let seconds = Duration::from_secs(if launch.quick { 1 } else { 3 });
    let worker = party.worker_process()?;
    let (begin, before) = (Instant::now(), processes::busy(worker)?);
    std::thread::sleep(seconds);
    let busy = processes::busy(worker)?.saturating_sub(before);
    let of_a_core = busy.as_secs_f64() / begin.elapsed().as_secs_f64() * 100.0;

    let name = |what: &str| format!("idle/{what}/{}", launch.transport.name());
    let us = |of: &Distribution, quantile| of.at(quantile) as f64 / 1e3;
    let first = |what, quantile| {
        let figure = Figure::new(name(what), "us", us(&commands, quantile));
        figure.against("raw UCX, asleep until it is woken", us(&raw, quantile))
    };
    let spinning = Figure::new(name("spinning-host/median"), "us", us(&spinning, 0.5));
    Ok(vec![
        Figure::new(name("cpu"), "%", of_a_core)
            .note("of a core, all threads of the worker, with a connected host"),
        first("first-command/median", 0.5)
            .histograms(Some(commands.clone()), Some(raw.clone()))
            .note("after pauses of 5 to 70 ms; both hosts poll for 50 us, then sleep too"),
        first("first-command/99-percent", 0.99),
        spinning.note("the kit with a host that never sleeps"),
    ])
}

/// Times `work` after a pause, in nanoseconds. Pauses of different lengths end at different moments
/// of the worker's sleep. The same work before the pause removes the effect of earlier
/// measurements.
fn after_a_pause(number: u64, work: impl Fn() -> Result<()>) -> Result<u64> {
    work()?;
    std::thread::sleep(Duration::from_millis(5 + number * 29 % 66));
    let begin = Instant::now();
    work()?;
    Ok(begin.elapsed().as_nanos() as u64)
}
