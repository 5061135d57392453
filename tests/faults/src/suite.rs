//! What every suite is given and gives.

use std::fmt;
use std::thread;

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;

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
    pub fn check(&self, suite: &str) -> Result<()> {
        let late: Vec<String> = self.late().into_iter().map(Figure::to_string).collect();
        ensure!(late.is_empty(), "noticed too late:\n{}", late.join("\n"));
        let in_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
        match self {
            Outcome::LeftOut(reason) if in_ci => {
                bail!("{suite} was left out, and CI is set, where nothing is: {reason}")
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
