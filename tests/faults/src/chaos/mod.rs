//! Processes die, crash and stop at random moments under load.
//!
//! Several *lanes* run side by side, each with a daemon, two workers and two hosts that live until
//! a round breaks them. Their resources are compared over all rounds.

mod judge;
mod lane;
mod plan;
mod watch;

use anyhow::{Context, Result};

use crate::measure::Times;
use crate::suite::{Extent, Outcome, in_lanes};
use crate::transports::Transports;
use lane::Lane;
use plan::{Blow, Round};

/// Rounds with a stop mostly wait, so several lanes fit on a core. Every other lane is over TCP.
const LANES: usize = 4;

const FULL: u32 = 200;

fn transports(lane: usize) -> Transports {
    if lane.is_multiple_of(2) { Transports::All } else { Transports::Tcp }
}

pub(crate) fn run(extent: &Extent) -> Result<Outcome> {
    let rounds = extent.rounds.unwrap_or(extent.pick(10, FULL));
    let plan: &[Round] = &plan::plan(rounds, extent.seed);
    let mut times = Times::default();
    let lane = |lane| run_lane(lane, plan::of_lane(plan, lane, LANES), plan.len());
    for its_times in in_lanes(LANES, lane)? {
        times.merge(its_times);
    }
    let figures = times.figures();
    let done = format!("{} rounds in {LANES} lanes", plan.len());
    Ok(Outcome::Passed { done, figures })
}

fn run_lane(number: usize, rounds: Vec<(usize, &Round)>, of: usize) -> Result<Times> {
    let mut times = Times::default();
    let mut lane = Lane::start(transports(number))?;
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
    lane.end()?;
    Ok(times)
}
