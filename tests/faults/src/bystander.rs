//! A host outside the fault: its answers come nearly as quickly as without the fault.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::host::Pace;
use crate::process::HostProcess;
use crate::suite::Figure;

const USUAL: Duration = Duration::from_secs(1);

const A_FEW: u64 = 200;
const LIMIT: Duration = Duration::from_secs(10);

const LONGEST: Duration = Duration::from_secs(1);

/// Time to wake a sleeping load. The machine's other work decides whether the load sleeps or polls,
/// so half of its answers take 2 us or 60 us.
const WOKEN: Duration = Duration::from_micros(60);

/// Attempts before the bystander counts as delayed: the machine's other work may slow it down once.
pub(crate) const TRIES: u32 = 3;

#[derive(Debug)]
pub(crate) struct Repeats {
    most: u32,
    made: u32,
}

impl Repeats {
    pub(crate) fn at_most(most: u32) -> Repeats {
        Repeats { most, made: 0 }
    }

    pub(crate) fn add(&mut self, error: anyhow::Error) -> Result<()> {
        if self.made == self.most {
            return Err(error.context(format!(
                "bystanders were kept waiting {} times in this run",
                self.most + 1
            )));
        }
        println!("    again, because {error:#}");
        self.made += 1;
        Ok(())
    }

    pub(crate) fn figure(&self, suite: &str) -> Figure {
        let note = format!(
            "times a fault was played again, because a bystander was slow beside it; {} may be",
            self.most
        );
        Figure::new(format!("{suite}/played-again"), "", self.made.into(), note)
    }
}

impl fmt::Display for Repeats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} played again", self.made)
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Paces {
    pub(crate) before: Pace,
    pub(crate) beside: Pace,
}

impl fmt::Display for Paces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; before: {}", self.beside, self.before)
    }
}

pub(crate) fn usual_pace(bystander: &mut HostProcess, worker: u64) -> Result<Pace> {
    bystander.pace(worker)?;
    pace_until(bystander, worker, Instant::now() + USUAL)
}

pub(crate) fn pace_until(bystander: &mut HostProcess, worker: u64, end: Instant) -> Result<Pace> {
    while Instant::now() < end {
        bystander.pass_within(LIMIT, worker, A_FEW)?;
    }
    bystander.pace(worker)
}

impl Paces {
    /// Checks the median against `factor` times the earlier median, the rate, and the longest
    /// answer.
    pub(crate) fn check(&self, factor: u32) -> Result<()> {
        let Paces { before, beside } = self;
        let usual = before.median.max(WOKEN);
        ensure!(
            beside.median <= usual * factor,
            "half of the answers take {factor} times as long: {self}"
        );
        ensure!(
            beside.rate() * f64::from(factor) >= before.rate(),
            "one answer comes instead of {factor}: {self}"
        );
        ensure!(beside.longest <= LONGEST, "an answer took longer than {LONGEST:?}: {self}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(answers: u64, median: u64, longest: u64) -> Pace {
        let [median, longest] = [median, longest].map(Duration::from_micros);
        Pace { answers, within: USUAL, median, most: longest, longest }
    }

    #[test]
    fn a_run_in_which_bystanders_wait_too_often_fails_with_the_last_reason() {
        let mut repeats = Repeats::at_most(2);
        let mut waits = || repeats.add(anyhow::anyhow!("one is kept back"));
        assert!(waits().is_ok() && waits().is_ok());
        let error = format!("{:#}", waits().unwrap_err());
        assert!(error.contains("3 times") && error.contains("one is kept back"), "{error}");
        assert_eq!(
            (repeats.to_string().as_str(), repeats.figure("hosts").value),
            ("2 played again", 2.0)
        );
    }

    #[test]
    fn a_bystander_may_be_somewhat_slower_and_no_more() {
        let before = pace(100_000, 100, 5000);
        let passes = |beside| Paces { before, beside }.check(5).is_ok();
        assert!(passes(before) && passes(pace(20_000, 500, 1_000_000)));
        assert!(!passes(pace(20_000, 501, 5000)), "each answer is late");
        assert!(!passes(pace(19_999, 50, 5000)), "later none remain");
        assert!(!passes(pace(100_000, 50, 1_000_001)), "one is kept back");
        let before = pace(100_000, 2, 5000);
        let passes = |beside| Paces { before, beside }.check(5).is_ok();
        assert!(
            passes(pace(20_000, 300, 5000)) && !passes(pace(20_000, 301, 5000)),
            "a sleeping host"
        );
    }
}
