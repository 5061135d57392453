//! Processes that die, crash and stop at random moments under load.
//!
//! Several *lanes* go side by side, each with a daemon, two workers and two hosts that live for as
//! long as nobody breaks them: what they hold is compared over all the rounds.

mod judge;
mod lane;
mod plan;
mod watch;

use anyhow::{Context, Result, ensure};

use crate::measure::Times;
use crate::suite::{Extent, Figure, Outcome, in_lanes};
use crate::transports::Transports;
use lane::Lane;
use plan::{Blow, Round};

/// Most of a round with a stop is waiting, so several fit on a core. Every other is over TCP.
const LANES: usize = 4;

const FULL: u32 = 200;

/// In one of how many losses over shared memory a queue may be blocked, besides [`BY_CHANCE`].
const SELDOM: usize = 8;
const BY_CHANCE: usize = 2;

fn transports(lane: usize) -> Transports {
    if lane.is_multiple_of(2) { Transports::All } else { Transports::Tcp }
}

/// Looks that queues were not blocked too often, with so many `losses` that may do it.
fn is_rare(blocked: u32, losses: usize) -> Result<()> {
    let limit = BY_CHANCE + losses / SELDOM;
    ensure!(
        blocked as usize <= limit,
        "{blocked} queues were blocked by {losses} losses, where {limit} may be: they are taken for blocked and are not"
    );
    Ok(())
}

pub(crate) fn run(extent: &Extent) -> Result<Outcome> {
    let rounds = extent.rounds.unwrap_or(extent.pick(10, FULL));
    let plan: &[Round] = &plan::plan(rounds, extent.seed);
    let (mut times, mut blocked) = (Times::default(), 0);
    let lane = |lane| run_lane(lane, plan::of_lane(plan, lane, LANES), plan.len());
    for (its_times, its_blocked) in in_lanes(LANES, lane)? {
        times.merge(its_times);
        blocked += its_blocked;
    }
    let mut figures = times.figures();
    let shared: Vec<_> = (0..LANES)
        .filter(|lane| transports(*lane) == Transports::All)
        .flat_map(|lane| plan::of_lane(plan, lane, LANES))
        .filter(|(_, round)| round.may_block())
        .collect();
    is_rare(blocked, shared.len())?;
    let note = "times a victim died while it sent, and those who shared a queue with it started a worker again";
    figures.push(Figure::new("chaos/blocked-queues", "", blocked.into(), note));
    let done = format!("{} rounds in {LANES} lanes", plan.len());
    Ok(Outcome::Passed { done, figures })
}

fn run_lane(number: usize, rounds: Vec<(usize, &Round)>, of: usize) -> Result<(Times, u32)> {
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
    Ok((times, lane.end()?))
}
