//! Inputs and results of every suite.

use std::fmt;
use std::thread;

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;

/// Runs `count` lanes of a suite at the same time.
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

/// Length of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// For the tests: a minute for all suites together.
    Short,
    /// The complete run.
    Full,
}

/// Parameters of a run.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// Short or full.
    pub length: Length,
    /// Number of rounds, for suites with rounds; by default from the length.
    pub rounds: Option<u32>,
    /// Number of commands, for suites that count them; by default from the length.
    pub commands: Option<u64>,
    /// Seed of all random choices.
    pub seed: u64,
}

impl Extent {
    pub(crate) fn pick<T>(&self, short: T, full: T) -> T {
        match self.length {
            Length::Short => short,
            Length::Full => full,
        }
    }
}

/// Result of a suite.
#[derive(Debug)]
pub enum Outcome {
    /// The suite passed, except for [late](Outcome::late) figures.
    Passed {
        /// Summary of the work.
        done: String,
        /// Measurements.
        figures: Vec<Figure>,
    },
    /// This machine cannot run the suite, for this reason.
    LeftOut(String),
}

impl Outcome {
    /// Returns the summary of the work; empty if left out.
    pub fn done(&self) -> &str {
        match self {
            Outcome::Passed { done, .. } => done,
            Outcome::LeftOut(_) => "",
        }
    }

    /// Returns the figures above their budgets.
    pub fn late(&self) -> Vec<&Figure> {
        match self {
            Outcome::Passed { figures, .. } => {
                figures.iter().filter(|figure| figure.is_late()).collect()
            }
            Outcome::LeftOut(_) => Vec::new(),
        }
    }

    /// Fails on a late figure, and in CI on a left-out suite.
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

/// A measurement. Its JSON (`urom-faults --json`) is a figure of the benchmark.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// Name, such as `losses/killed/worker`.
    pub name: String,
    /// Unit of the value; empty for a count.
    pub unit: &'static str,
    /// The value.
    pub value: f64,
    /// Explanation for the reader.
    pub note: String,
    /// Upper limit of the value.
    #[serde(skip)]
    pub budget: Option<f64>,
}

impl Figure {
    pub(crate) fn new(
        name: impl Into<String>,
        unit: &'static str,
        value: f64,
        note: impl Into<String>,
    ) -> Figure {
        Figure { name: name.into(), unit, value, note: note.into(), budget: None }
    }

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

/// Variable with the seed, for runs without arguments.
const SEED_VARIABLE: &str = "UROM_FAULTS_SEED";

/// Returns the given seed, the seed in `UROM_FAULTS_SEED`, or a new seed, and prints it.
///
/// The plan of a run depends only on the seed: the faults and the number of commands before them.
/// The timing of the processes does not.
pub fn seed_from(given: Option<u64>) -> Result<u64> {
    let seed = match (given, std::env::var(SEED_VARIABLE)) {
        (Some(seed), _) => seed,
        (None, Ok(text)) => {
            text.parse().with_context(|| format!("{SEED_VARIABLE}={text} is not a number"))?
        }
        (None, Err(_)) => fastrand::u64(..),
    };
    println!("seed {seed} (to repeat: --seed {seed}, or {SEED_VARIABLE}={seed})");
    Ok(seed)
}
