//! Everything that a run found, as JSON.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::budget::{self, Verdict};
use crate::extent::LAUNCHES;
use crate::figure::Figure;
use crate::machine::Machine;

/// What `summary.json` holds. The verdicts follow from the figures, so that reading one makes them again.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Summary {
    /// What it was measured on.
    pub(crate) machine: Machine,
    /// Whether it was a first look only.
    pub(crate) quick: bool,
    /// Whether all suites ran.
    pub(crate) all_suites: bool,
    /// How many launches each figure comes from.
    pub(crate) launches: usize,
    /// How long all of it took, in seconds.
    pub(crate) seconds: f64,
    /// What went wrong, suite by suite.
    pub(crate) failures: Vec<String>,
    /// What was measured.
    pub(crate) figures: Vec<Figure>,
    /// What became of each budget.
    #[serde(skip_deserializing)]
    pub(crate) budgets: Vec<Verdict>,
}

impl Summary {
    /// Judges the figures.
    pub(crate) fn judged(mut self) -> Summary {
        self.budgets = budget::judge(&mut self.figures);
        self
    }

    /// What the run took, in words.
    pub(crate) fn took(&self) -> String {
        format!("the run took {:.1} min", self.seconds / 60.0)
    }

    /// Why the run took too long, if it did. Like a missed budget that leaves its figures what they are. Who asks for more launches
    /// than a run has by itself gives it the time for them.
    pub(crate) fn too_long(&self) -> Option<String> {
        let (what, most, usual) =
            if self.quick { ("a first look", 3.0, 1) } else { ("a run", 20.0, LAUNCHES) };
        let most = most * (self.launches as f64 / usual as f64).max(1.0);
        (self.seconds > most * 60.0)
            .then(|| format!("{}: {what} may take {most:.0} min", self.took()))
    }

    /// Whether every suite went through, every budget is met, none is missing in a run that was to measure all, and it did not take
    /// too long.
    pub(crate) fn success(&self) -> bool {
        self.failures.is_empty()
            && self.too_long().is_none()
            && budget::success(&self.budgets, self.all_suites && !self.quick)
    }

    /// Writes it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn write(&self, file: &Path) -> Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
    }

    /// Reads what an earlier run wrote.
    ///
    /// # Errors
    /// When there is none, or one of another make.
    pub(crate) fn read(file: &Path) -> Result<Summary> {
        let text = fs::read_to_string(file).with_context(|| {
            format!("cannot read {}: `cargo xtask bench` writes it", file.display())
        })?;
        let summary: Summary = serde_json::from_str(&text)
            .with_context(|| format!("{} is of another release: measure anew", file.display()))?;
        Ok(summary.judged())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(quick: bool, seconds: f64) -> Summary {
        Summary {
            machine: Machine::find().unwrap(),
            quick,
            all_suites: false,
            launches: 1,
            seconds,
            failures: Vec::new(),
            figures: Vec::new(),
            budgets: Vec::new(),
        }
    }

    #[test]
    fn a_run_that_takes_too_long_is_no_success_and_says_so() {
        for (quick, most) in [(false, 1200.0), (true, 180.0)] {
            let run = |seconds| run(quick, seconds);
            assert!(run(most).success() && run(most).too_long().is_none());
            assert!(!run(most + 1.0).success());
            assert!(Summary { launches: 10, ..run(2.0 * most) }.success());
            let why = run(2.0 * most).too_long().unwrap();
            assert!(why.starts_with(&format!("the run took {:.1} min: ", most / 30.0)), "{why}");
        }
    }

    #[test]
    fn how_long_a_run_took_is_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("summary.json");
        run(false, 642.0).write(&file).unwrap();
        assert_eq!(Summary::read(&file).unwrap().took(), "the run took 10.7 min");
    }
}
