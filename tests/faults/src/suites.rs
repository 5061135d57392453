//! The list of suites.

use anyhow::Result;

use crate::awake::Awake;
use crate::suite::{Extent, Figure, Outcome};
use crate::{chaos, endurance, hosts, network, plugins, scale, stalls, throng, turnover};

/// One kind of fault.
#[derive(Debug, Clone, Copy)]
pub struct Suite {
    /// Name on the command line.
    pub name: &'static str,
    /// Description in one line.
    pub about: &'static str,
    body: fn(&Extent) -> Result<Outcome>,
}

impl Suite {
    /// Runs the suite, with the machine kept awake.
    pub fn run(&self, extent: &Extent) -> Result<Outcome> {
        let awake = Awake::begin()?;
        let outcome = (self.body)(extent);
        let late = awake.end();
        let late = Figure::new(
            format!("{}/timer-late", self.name),
            "s",
            late.as_secs_f64(),
            "the most that this machine was late with a timer",
        );
        match outcome {
            Ok(Outcome::Passed { done, mut figures }) => {
                figures.push(late);
                Ok(Outcome::Passed { done, figures })
            }
            other => {
                println!("  {late}");
                other
            }
        }
    }
}

const fn suite(
    name: &'static str,
    about: &'static str,
    body: fn(&Extent) -> Result<Outcome>,
) -> Suite {
    Suite { name, about, body }
}

/// All suites, in running order.
pub const SUITES: &[Suite] = &[
    suite("chaos", "kills, crashes and stops workers, daemons and hosts under load", chaos::run),
    suite(
        "network",
        "cuts, restores, throttles and disturbs the link between host and service",
        network::run,
    ),
    suite("hosts", "hosts that flood a worker or the daemon, or stop reading", hosts::run),
    suite(
        "plugins",
        "plugins that block, leak, panic in every method and corrupt their lists",
        plugins::run,
    ),
    suite(
        "stalls",
        "slow files, a log that is not read, crowds, hang-ups, and pauses of all processes",
        stalls::run,
    ),
    suite(
        "turnover",
        "a worker that loses one host after the other, and a host that loses workers, in memory that does not grow",
        turnover::run,
    ),
    suite(
        "scale",
        "as many workers, plugins and hosts as there may be, all of them used",
        scale::run,
    ),
    suite(
        "throng",
        "a thousand hosts that come to one daemon at once, beside hosts at work, and the cost of each",
        throng::run,
    ),
    suite(
        "endurance",
        "a hundred million loopbacks, every value checked, in memory that does not grow",
        endurance::run,
    ),
];
