//! The host's stages, against those of raw UCX in the same process.

use std::hint::spin_loop;

use anyhow::{Context, Result};
use bench_raw::Style;
use serde::{Deserialize, Serialize};

use super::clock::{Steps, now};
use crate::statistics::{in_turns, median};
use crate::suites::loopback::host::{Arguments, Order, Party};
use crate::suites::loopback::round::{Side, Work};

/// Nanoseconds of each.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct HostStages {
    pub(super) build: f64,
    pub(super) submit: f64,
    pub(super) take: f64,
    pub(super) raw_send: f64,
    pub(super) raw_take: f64,
    /// The round trips, of many in a row.
    pub(super) kit: f64,
    pub(super) raw: f64,
    /// Of raw messages as long as the kit's, and of those when they are answered as the kit's worker answers.
    pub(super) raw_short: f64,
    pub(super) raw_at_once: f64,
}

/// Measures in this process.
///
/// # Errors
/// What the service or UCX gives.
pub(super) fn measure(arguments: &Arguments, samples: u64, rounds: usize) -> Result<HostStages> {
    let mut party = Party::new(arguments)?;
    let work = Work { trips: samples, depth: 1, single: false };
    let sides = [Side::Raw, Side::RawShort, Side::RawShortAtOnce, Side::Kit];
    let rounds: [Vec<f64>; 4] = in_turns(rounds, |side| {
        let side = sides[side];
        if side != Side::Kit {
            party.obey(Order::Serve(side))?;
        }
        let done = party.round(side, work)?;
        if side != Side::Kit {
            party.obey(Order::EndServe)?;
        }
        Ok((done.end - done.begin) as f64 / samples as f64)
    })?;
    let medians = rounds.map(|rounds| median(&rounds).context("no round was measured"));
    let [raw, raw_short, raw_at_once, kit] = medians;
    let (raw, raw_short, raw_at_once, kit) = (raw?, raw_short?, raw_at_once?, kit?);
    let [build, submit, take] = kit_steps(&party, samples, patience(kit))?;
    party.obey(Order::Serve(Side::Raw))?;
    let [raw_send, raw_take] = raw_steps(&party, samples, patience(raw));
    party.obey(Order::EndServe)?;
    Ok(HostStages { build, submit, take, raw_send, raw_take, kit, raw, raw_short, raw_at_once })
}

/// How long to wait until an answer must have come. No longer than a worker spins, or it would be asleep by the next.
fn patience(round_trip: f64) -> u64 {
    ((round_trip * 4.0) as u64 + 1_000).min(40_000)
}

/// Waits without looking at UCX.
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
        let taken = now();
        steps.record(0, begin, built);
        steps.record(1, built, submitted);
        steps.record(2, back, taken);
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
        let taken = now();
        steps.record(0, begin, sent);
        steps.record(1, back, taken);
    }
    steps.means()
}
