//! A link between host and service that is cut, comes back, is slow, or loses packets. Both have
//! their own network namespaces, joined by a veth pair, and talk over TCP.

mod link;
mod scenarios;
mod scene;

use anyhow::{Context, Result};

use crate::measure::Times;
use crate::suite::{Extent, Outcome, in_lanes};

const LANES: usize = 4;

pub(crate) fn run(extent: &Extent) -> Result<Outcome> {
    if let Some(reason) = link::obstacle()? {
        return Ok(Outcome::LeftOut(reason));
    }
    let mut all = scenarios::all(extent.pick(1, extent.rounds.unwrap_or(5)));
    fastrand::Rng::with_seed(extent.seed).shuffle(&mut all);
    let mut times = Times::default();
    let lanes = in_lanes(LANES, |lane| {
        let mut times = Times::default();
        for scenario in all.iter().skip(lane).step_by(LANES) {
            let took = scenario.play().with_context(|| scenario.name.clone())?;
            println!("  {}: {:.3} s", scenario.name, took.as_secs_f64());
            times.add(scenario.figure(), scenario.budget, took);
        }
        Ok(times)
    })?;
    lanes.into_iter().for_each(|lane| times.merge(lane));
    let done = format!("{} scenarios in {LANES} lanes", all.len());
    Ok(Outcome::Passed { done, figures: times.figures() })
}
