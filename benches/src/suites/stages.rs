//! The stages of a loopback beyond raw UCX, each timed by itself.
//!
//! The host's stages are timed with a real worker: the host submits, waits without polling until
//! the answer must have come, and takes it. The worker's are timed in this process, which drives a
//! plugin as a worker does. The rest of the difference is the worker's loop, the frames and the
//! caches.

use std::hint::spin_loop;

use anyhow::{Context, Result, ensure};
use bench_raw::Style;
use urom_tests::built;

use super::loopback::round::{Side, now};
use crate::distribution::Distribution;
use crate::driven::{Plugin, ROOM};
use crate::figure::Figure;
use crate::launch::Launch;
use crate::party::Party;
use crate::statistics::{in_turns, of_rounds};
use crate::transport::Transport;

const RAW: &str = "raw UCX";

pub(super) fn measure(launch: &Launch) -> Result<Vec<Figure>> {
    let samples = if launch.quick { 20_000 } else { 100_000 };
    let call = call_step(samples)?;
    let mut figures = Vec::new();
    if launch.transport == Transport::SharedMemory {
        let figure = |name: &str, ns| Figure::new(format!("stages/{name}"), "ns", ns);
        let [descriptor, plugin, pack] = worker_steps(samples)?;
        figures.extend([
            figure("worker/call", call).note("plugin: runs a command and writes its answer"),
            figure("doca/descriptor", descriptor).note("worker: makes the descriptor"),
            figure("doca/plugin", plugin).note("plugin: worker_cmd and progress, descriptors"),
            figure("doca/pack", pack).note("worker: notif_pack and free of the answer"),
        ]);
    }

    let samples = samples / 10;
    let mut party = Party::start(launch)?;
    let sides = [Side::Raw, Side::RawAtOnce, Side::Kit];
    let rounds = in_turns(launch.rounds(), 3, |side| sides[side].each(&mut party, samples))?;
    let (raw, at_once, kit) =
        (of_rounds(&rounds[0])?, of_rounds(&rounds[1])?, of_rounds(&rounds[2])?);
    let [build, submit, take] = kit_steps(&party, samples, kit)?;
    party.serve(Style::Doca)?;
    let [raw_send, raw_take] = raw_steps(&party, samples, raw)?;
    party.end_serve()?;

    let figure = |name: &str, ns| {
        Figure::new(format!("stages/{}/{name}", launch.transport.name()), "ns", ns)
    };
    let at_host = build + (submit - raw_send) + (take - raw_take);
    figures.extend([
        figure("host-build", build).note("host: takes a free task and fills in the command"),
        figure("host-submit", submit).against(RAW, raw_send).note("raw UCX: its send alone"),
        figure("host-take", take).against(RAW, raw_take).note(
            "host: finds the answer's task, completes and releases it; raw UCX: progress alone",
        ),
        figure("like-the-kit", at_once - raw).note(
            "raw UCX with the kit's shorter messages, answered in the round that brought them",
        ),
        figure("rest", kit - at_once - at_host - call)
            .note("the round trip beyond that and all stages: the worker's loop, frames, caches"),
        figure("round-trip", kit).against(RAW, raw),
    ]);
    Ok(figures)
}

/// A loopback: its tag, which is 0, and its value.
fn command(data: u64) -> [u8; 16] {
    let mut command = [0; 16];
    command[8..].copy_from_slice(&data.to_le_bytes());
    command
}

/// A call of the loopback plugin, in nanoseconds.
fn call_step(samples: u64) -> Result<f64> {
    let mut plugin = Plugin::open(&built("libworker_graph.so")?)?;
    let mut room = [0; ROOM];
    let [call] = means(samples, |data| {
        let command = command(data);
        let begin = now();
        let answer = plugin.call(data, &command, &mut room)?;
        let end = now();
        ensure!(
            answer == Some(16) && room[8..16] == data.to_le_bytes(),
            "the plugin's answer is wrong"
        );
        Ok([(begin, end)])
    })?;
    Ok(call)
}

/// Descriptor, plugin and packing of the loopback plugin on DOCA's way, in nanoseconds.
fn worker_steps(samples: u64) -> Result<[f64; 3]> {
    let mut plugin = Plugin::open(&built("libworker_graph.so")?)?;
    let mut room = [0; ROOM];
    means(samples, |data| {
        let command = command(data);
        let begin = now();
        plugin.give(data, &command)?;
        let described = now();
        plugin.run()?;
        plugin.progress()?;
        let answered = now();
        let notification = plugin.take().context("the plugin has no answer")?;
        let found = now();
        let packed = plugin.pack(notification, &mut room)?;
        let end = now();
        ensure!(room[packed - 8..packed] == data.to_le_bytes(), "the plugin's answer is wrong");
        Ok([(begin, described), (described, answered), (found, end)])
    })
}

/// Waits until an answer must have come: no longer than a worker spins, or it would be asleep by
/// the next command. Returns the time.
fn wait_since(sent: u64, round_trip: f64) -> u64 {
    let until = sent + ((round_trip * 4.0) as u64 + 1_000).min(40_000);
    loop {
        let time = now();
        if time >= until {
            return time;
        }
        spin_loop();
    }
}

fn kit_steps(party: &Party, samples: u64, round_trip: f64) -> Result<[f64; 3]> {
    means(samples, |data| {
        let begin = now();
        let task = party.graph.task_loopback(&party.worker, data);
        let built = now();
        let sent = task.submit()?;
        let submitted = now();
        let back = wait_since(submitted, round_trip);
        sent.wait()?;
        Ok([(begin, built), (built, submitted), (back, now())])
    })
}

fn raw_steps(party: &Party, samples: u64, round_trip: f64) -> Result<[f64; 2]> {
    means(samples, |_| {
        let answers = party.raw.received(0);
        let begin = now();
        party.raw.send(Style::Doca.request());
        let sent = now();
        let back = wait_since(sent, round_trip);
        while party.raw.received(0) == answers {
            party.raw.progress();
        }
        Ok([(begin, sent), (back, now())])
    })
}

/// The readings that tell the time of one.
const READINGS: u64 = 100_000;

/// The means of steps that follow each other, timed `samples` times, less that of reading the
/// clock, and never negative. A virtual machine's clock may be exact to tens of nanoseconds only,
/// so the means count, without the slowest tenth.
fn means<const N: usize>(
    samples: u64,
    mut steps: impl FnMut(u64) -> Result<[(u64, u64); N]>,
) -> Result<[f64; N]> {
    let mut all = [(); N].map(|()| Distribution::new());
    for sample in 0..samples {
        for (step, (begin, end)) in all.iter_mut().zip(steps(sample)?) {
            step.record(end - begin);
        }
    }
    let mut reading = Distribution::new();
    for _ in 0..READINGS {
        let begin = now();
        reading.record(now() - begin);
    }
    let reading = mean(&reading);
    Ok(all.map(|step| (mean(&step) - reading).max(0.0)))
}

/// The mean of the samples without the slowest tenth.
fn mean(of: &Distribution) -> f64 {
    let most = of.count() - of.count() / 10;
    let (mut sum, mut counted) = (0.0, 0);
    for (nanoseconds, count) in of.bars() {
        let count = count.min(most - counted);
        sum += nanoseconds as f64 * count as f64;
        counted += count;
    }
    sum / most.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_tenth_does_not_count() {
        let samples = [10; 9].into_iter().chain([1_000_000]);
        assert_eq!(mean(&samples.collect()), 10.0);
        assert_eq!(mean(&Distribution::new()), 0.0);
    }

    #[test]
    fn a_step_of_nothing_takes_nothing() {
        let [nothing, something] = means(READINGS, |_| {
            let begin = now();
            let end = now();
            Ok([(begin, end), (begin, end + 1_000)])
        })
        .unwrap();
        assert!(nothing < 500.0, "{nothing}");
        assert!(something > nothing + 500.0, "{something} {nothing}");
    }
}
