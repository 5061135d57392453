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
use super::{Part, Suite};
use crate::distribution::Distribution;
use crate::driven::{Plugin, ROOM};
use crate::figure::Figure;
use crate::launch::Launch;
use crate::party::Party;
use crate::statistics::{in_turns, of_rounds};
use crate::transport::Transport;

pub(crate) const SUITE: Suite = Suite {
    name: NAME,
    about: "the stages of a loopback, and the rest",
    parts: &[Part::new(measure)],
    process: None,
};

const NAME: &str = "stages";
const RAW: &str = "raw UCX";

fn measure(launch: &Launch) -> Result<Vec<Figure>> {
    let samples = if launch.quick { 20_000 } else { 100_000 };
    let [descriptor, plugin, pack] = worker_steps(samples)?;
    let mut figures = Vec::new();
    if launch.transport == Transport::SharedMemory {
        let figure = |name: &str, ns| Figure::new(format!("{NAME}/worker/{name}"), "ns", ns);
        figures.extend([
            figure("descriptor", descriptor).note("worker: makes the descriptor"),
            figure("plugin", plugin).note("plugin: worker_cmd and progress, both descriptors"),
            figure("pack", pack).note("worker: notif_pack and free of the answer"),
        ]);
    }

    let samples = samples / 10;
    let mut party = Party::start(launch)?;
    let sides = [Side::Raw, Side::RawAtOnce, Side::Kit];
    let rounds = in_turns(launch.rounds(), 3, |side| sides[side].each(&mut party, samples))?;
    let (raw, at_once, kit) =
        (of_rounds(&rounds[0])?, of_rounds(&rounds[1])?, of_rounds(&rounds[2])?);
    let [build, submit, take] = kit_steps(&party, samples, patience(kit))?;
    party.serve(Style::Doca)?;
    let [raw_send, raw_take] = raw_steps(&party, samples, patience(raw));
    party.end_serve()?;

    let figure = |name: &str, ns| {
        Figure::new(format!("{NAME}/{}/{name}", launch.transport.name()), "ns", ns)
    };
    let at_host = build + (submit - raw_send) + (take - raw_take);
    let at_worker = descriptor + plugin + pack;
    figures.extend([
        figure("host-build", build).note("host: takes a free task and fills in the command"),
        figure("host-submit", submit).against(RAW, raw_send).note("raw UCX: its send alone"),
        figure("host-take", take).against(RAW, raw_take).note(
            "host: finds the answer's task, completes and releases it; raw UCX: progress alone",
        ),
        figure("like-the-kit", at_once - raw).note(
            "raw UCX with the kit's shorter messages, answered in the round that brought them",
        ),
        figure("rest", kit - at_once - at_host - at_worker)
            .note("the round trip beyond that and all stages: the worker's loop, frames, caches"),
        figure("round-trip", kit).against(RAW, raw),
    ]);
    Ok(figures)
}

/// Descriptor, plugin and packing of the loopback plugin, in nanoseconds.
fn worker_steps(samples: u64) -> Result<[f64; 3]> {
    let mut plugin = Plugin::open(&built("libworker_graph.so")?)?;
    let mut steps = Steps::new();
    let mut room = [0; ROOM];
    for data in 0..samples {
        // A loopback: its tag, which is 0, and its value.
        let mut command = [0; 16];
        command[8..].copy_from_slice(&data.to_le_bytes());
        let begin = now();
        plugin.give(data, &command)?;
        let described = now();
        plugin.run()?;
        plugin.progress()?;
        let answered = now();
        let notification = plugin.take().context("the plugin has no answer")?;
        let found = now();
        let packed = plugin.pack(notification, &mut room)?;
        steps.record([(begin, described), (described, answered), (found, now())]);
        ensure!(room[packed - 8..packed] == data.to_le_bytes(), "the plugin's answer is wrong");
    }
    Ok(steps.means())
}

/// How long to wait until an answer must have come: no longer than a worker spins, or it would be
/// asleep by the next command.
fn patience(round_trip: f64) -> u64 {
    ((round_trip * 4.0) as u64 + 1_000).min(40_000)
}

fn wait_until(time: u64) {
    while now() < time {
        spin_loop();
    }
}

fn kit_steps(party: &Party, samples: u64, patience: u64) -> Result<[f64; 3]> {
    let mut steps = Steps::new();
    for data in 0..samples {
        let begin = now();
        let task = party.graph.task_loopback(&party.worker, data);
        let built = now();
        let sent = task.submit()?;
        let submitted = now();
        wait_until(submitted + patience);
        let back = now();
        sent.wait()?;
        steps.record([(begin, built), (built, submitted), (back, now())]);
    }
    Ok(steps.means())
}

fn raw_steps(party: &Party, samples: u64, patience: u64) -> [f64; 2] {
    let mut steps = Steps::new();
    for _ in 0..samples {
        let answers = party.raw.received(0);
        let begin = now();
        party.raw.send(Style::Doca.request());
        let sent = now();
        wait_until(sent + patience);
        let back = now();
        while party.raw.received(0) == answers {
            party.raw.progress();
        }
        steps.record([(begin, sent), (back, now())]);
    }
    steps.means()
}

/// The readings that tell the time of one.
const READINGS: u32 = 100_000;

/// Steps that follow each other, timed again and again. A virtual machine's clock may be exact to
/// tens of nanoseconds only, so the means count, without the slowest tenth.
struct Steps<const N: usize>([Distribution; N]);

impl<const N: usize> Steps<N> {
    fn new() -> Steps<N> {
        Steps(std::array::from_fn(|_| Distribution::new()))
    }

    #[inline]
    fn record(&mut self, steps: [(u64, u64); N]) {
        for (step, (begin, end)) in self.0.iter_mut().zip(steps) {
            step.record(end - begin);
        }
    }

    /// The means, less that of reading the clock, and never negative.
    fn means(self) -> [f64; N] {
        let mut reading = Distribution::new();
        for _ in 0..READINGS {
            let begin = now();
            reading.record(now() - begin);
        }
        let reading = mean(&reading);
        self.0.map(|step| (mean(&step) - reading).max(0.0))
    }
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
        let mut steps = Steps::<2>::new();
        for _ in 0..READINGS {
            let begin = now();
            let end = now();
            steps.record([(begin, end), (begin, end + 1_000)]);
        }
        let [nothing, something] = steps.means();
        assert!(nothing < 500.0, "{nothing}");
        assert!(something > nothing + 500.0, "{something} {nothing}");
    }
}
