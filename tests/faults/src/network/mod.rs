//! A link between host and service that is cut, comes back, is slow, or loses packets. Both are in network namespaces of their
//! own, joined by a veth pair, and talk over TCP.

mod link;
mod scenarios;
mod scene;

use std::thread;

use anyhow::{Context, Result};

use crate::measure::Times;
use crate::suite::{Extent, Outcome};

/// Nearly all of a scenario is waiting.
const LANES: usize = 4;

/// Runs the suite.
pub(crate) fn run(extent: &Extent) -> Result<Outcome> {
    if let Some(reason) = link::obstacle()? {
        return Ok(Outcome::LeftOut(reason));
    }
    let mut all = scenarios::all(extent.pick(1, extent.rounds.unwrap_or(5)));
    fastrand::Rng::with_seed(extent.seed).shuffle(&mut all);
    let all = &all;
    thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES)
            .map(|lane| {
                scope.spawn(move || {
                    let mut times = Times::default();
                    for scenario in all.iter().skip(lane).step_by(LANES) {
                        let took = scenario.play().with_context(|| scenario.name.clone())?;
                        println!("  {}: {:.3} s", scenario.name, took.as_secs_f64());
                        times.add(scenario.figure(), scenario.budget, took);
                    }
                    anyhow::Ok(times)
                })
            })
            .collect();
        let mut times = Times::default();
        for lane in lanes {
            match lane.join() {
                Ok(result) => times.merge(result?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        let done = format!("{} scenarios in {LANES} lanes", all.len());
        Ok(Outcome::Passed { done, figures: times.figures() })
    })
}
