//! What a suite is, and the list of them.

use std::fmt;
use std::thread;

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;

use crate::awake::Awake;
use crate::{chaos, endurance, hosts, network, plugins, scale, stalls, throng, turnover};

/// One way of breaking things.
#[derive(Debug, Clone, Copy)]
pub struct Suite {
    /// How it is named on the command line.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// Carries it out.
    body: fn(&Extent) -> Result<Outcome>,
}

impl Suite {
    /// Runs it, on a machine that is kept awake.
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

/// All of them, in the order in which they run.
pub const SUITES: &[Suite] = &[
    Suite {
        name: "chaos",
        about: "kills, crashes and stops workers, daemons and hosts under load",
        body: chaos::run,
    },
    Suite {
        name: "network",
        about: "cuts, restores, throttles and disturbs the link between host and service",
        body: network::run,
    },
    Suite {
        name: "hosts",
        about: "hosts that flood a worker or the daemon, or stop reading",
        body: hosts::run,
    },
    Suite {
        name: "plugins",
        about: "plugins that block, leak, panic in every method and corrupt their lists",
        body: plugins::run,
    },
    Suite {
        name: "stalls",
        about: "slow files, a log that nobody reads, crowds, hang-ups, and pauses of everybody",
        body: stalls::run,
    },
    Suite {
        name: "turnover",
        about: "a worker that loses one host after the other, and a host that loses workers, in memory that does not grow",
        body: turnover::run,
    },
    Suite {
        name: "scale",
        about: "as many workers, plugins and hosts as there may be, all of them used",
        body: scale::run,
    },
    Suite {
        name: "throng",
        about: "a thousand hosts that come to one daemon at once, beside hosts at work, and what each costs",
        body: throng::run,
    },
    Suite {
        name: "endurance",
        about: "a hundred million loopbacks, every value checked, in memory that does not grow",
        body: endurance::run,
    },
];

/// Runs so many lanes of a suite at the same time.
pub(crate) fn in_lanes<T: Send>(
    count: usize,
    lane: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let lane = &lane;
    thread::scope(|scope| {
        let lanes: Vec<_> = (0..count).map(|number| scope.spawn(move || lane(number))).collect();
        let join = |lane: thread::ScopedJoinHandle<'_, Result<T>>| {
            lane.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        lanes.into_iter().map(join).collect()
    })
}

/// How much of a suite is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// What belongs among the tests: a minute for all suites together.
    Short,
    /// Everything.
    Full,
}

/// What a suite is told.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// How much.
    pub length: Length,
    /// How many rounds, for suites that have rounds; as the length says if not given.
    pub rounds: Option<u32>,
    /// How many commands, for the suite that counts them; as the length says if not given.
    pub commands: Option<u64>,
    /// Where everything that is random comes from.
    pub seed: u64,
}

impl Extent {
    /// One of two values, by length.
    pub(crate) fn pick<T>(&self, short: T, full: T) -> T {
        match self.length {
            Length::Short => short,
            Length::Full => full,
        }
    }
}

/// What a suite found out.
#[derive(Debug)]
pub enum Outcome {
    /// It ran, and everything held, but for times that may be [late](Outcome::late).
    Passed {
        /// How much of what it did, in a few words.
        done: String,
        /// What was measured.
        figures: Vec<Figure>,
    },
    /// This machine cannot run it, for this reason.
    LeftOut(String),
}

impl Outcome {
    /// How much of what was done.
    pub fn done(&self) -> &str {
        match self {
            Outcome::Passed { done, .. } => done,
            Outcome::LeftOut(_) => "",
        }
    }

    /// What took longer than it may.
    pub fn late(&self) -> Vec<&Figure> {
        match self {
            Outcome::Passed { figures, .. } => {
                figures.iter().filter(|figure| figure.is_late()).collect()
            }
            Outcome::LeftOut(_) => Vec::new(),
        }
    }

    /// Whether everything was in time, and a suite may be left out here: not in CI.
    pub fn check(&self, suite: &Suite) -> Result<()> {
        let late: Vec<String> = self.late().into_iter().map(Figure::to_string).collect();
        ensure!(late.is_empty(), "noticed too late:\n{}", late.join("\n"));
        let in_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
        match self {
            Outcome::LeftOut(reason) if in_ci => {
                bail!("{} was left out, and CI is set, where nothing is: {reason}", suite.name)
            }
            _ => Ok(()),
        }
    }
}

/// What was measured. As JSON (`urom-faults --json`) it is a figure of the benchmark.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// What it is: `losses/killed/worker`.
    pub name: String,
    /// Of the value; empty for a count.
    pub unit: &'static str,
    /// The value.
    pub value: f64,
    /// What a reader has to know to understand it.
    pub note: String,
    /// The most it may be.
    #[serde(skip)]
    pub budget: Option<f64>,
}

impl Figure {
    /// A count, or whatever has no budget.
    pub(crate) fn new(
        name: impl Into<String>,
        unit: &'static str,
        value: f64,
        note: impl Into<String>,
    ) -> Figure {
        Figure { name: name.into(), unit, value, note: note.into(), budget: None }
    }

    /// The same with a limit.
    pub(crate) fn at_most(self, budget: f64) -> Figure {
        Figure { budget: Some(budget), ..self }
    }

    fn is_late(&self) -> bool {
        self.budget.is_some_and(|budget| self.value > budget)
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Figure { name, unit, value, note, budget } = self;
        // A count is whole.
        let decimals = if unit.is_empty() { 0 } else { 3 };
        write!(f, "{name:<52} {value:>10.decimals$} {unit}")?;
        if let Some(budget) = budget {
            write!(f, " of {budget}")?;
        }
        write!(f, "  ({note})")
    }
}

/// The variable that sets the seed where no argument can.
const SEED_VARIABLE: &str = "UROM_FAULTS_SEED";

/// The seed that was given, that of `UROM_FAULTS_SEED`, or a new one; printed to be repeated.
///
/// The plan of a run follows from it: what is broken and after how many commands. The processes'
/// timing does not.
pub fn seed_from(given: Option<u64>) -> Result<u64> {
    let seed = match (given, std::env::var(SEED_VARIABLE)) {
        (Some(seed), _) => seed,
        (None, Ok(text)) => {
            text.parse().with_context(|| format!("{SEED_VARIABLE}={text} is no number"))?
        }
        (None, Err(_)) => fastrand::u64(..),
    };
    println!("seed {seed} (to repeat: --seed {seed}, or {SEED_VARIABLE}={seed})");
    Ok(seed)
}
