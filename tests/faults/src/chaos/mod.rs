//! Processes that die, crash and stop at random moments under load.
//!
//! Several *lanes* go side by side, each with a daemon, two workers and two hosts that live for as long as nobody breaks
//! them: what they hold is compared over all the rounds.

mod judge;
mod lane;
mod plan;
mod watch;

use std::thread;

use anyhow::{Context, Result};

use crate::measure::Times;
use crate::process::Transports;
use crate::suite::{Extent, Figure, Outcome};
use lane::Lane;
use plan::{Blow, Round};

/// Most of a round in which something is stopped is waiting, so several fit on one core. Every other lane is over TCP.
const LANES: usize = 4;

/// How many rounds a full run has.
const FULL: u32 = 200;

/// Runs the suite.
pub(crate) fn run(extent: &Extent) -> Result<Outcome> {
    let rounds = extent.rounds.unwrap_or(extent.pick(10, FULL));
    let plan: &[Round] = &plan::plan(rounds, extent.seed);
    let (times, blocked) = thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES)
            .map(|lane| {
                let rounds = plan::of_lane(plan, lane, LANES);
                scope.spawn(move || run_lane(lane, rounds, plan.len()))
            })
            .collect();
        let (mut times, mut blocked) = (Times::default(), 0);
        for lane in lanes {
            match lane.join() {
                Ok(result) => {
                    let (its_times, its_blocked) = result?;
                    times.merge(its_times);
                    blocked += its_blocked;
                }
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        anyhow::Ok((times, blocked))
    })?;
    let mut figures = times.figures();
    let note =
        "times a victim died while it sent, and those who shared a queue with it started a worker again";
    figures.push(Figure::new("chaos/blocked-queues", "", blocked.into(), note));
    let done = format!("{} rounds in {LANES} lanes", plan.len());
    Ok(Outcome::Passed { done, figures })
}

/// The times of a lane's rounds, and how often a queue was blocked in them.
fn run_lane(number: usize, rounds: Vec<(usize, &Round)>, of: usize) -> Result<(Times, u32)> {
    let transports = if number.is_multiple_of(2) { Transports::All } else { Transports::Tcp };
    let mut times = Times::default();
    let mut lane = Lane::start(transports)?;
    for (index, round) in rounds {
        let name = format!("round {} of {of}, lane {number}: {round}", index + 1);
        match lane.play(round) {
            Ok(noticed) => {
                println!("  {name}: {:.3} s", noticed.as_secs_f64());
                let budget = (round.blow != Blow::Pause).then(|| round.blow.budget());
                times.add(round.figure(), budget, noticed);
            }
            Err(error) => {
                return Err(error).with_context(|| format!("{name}\n{}\n{name}", lane.logs()));
            }
        }
    }
    Ok((times, lane.end()?))
}
