//! All results of a run, as JSON.

use std::fs;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::directory;
use crate::budget;
use crate::figure::Figure;
use crate::run::LAUNCHES;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Summary {
    /// The measured machine, and the day.
    pub(crate) machine: String,
    pub(crate) quick: bool,
    pub(crate) all_suites: bool,
    pub(crate) launches: usize,
    pub(crate) seconds: f64,
    pub(crate) failures: Vec<String>,
    pub(crate) figures: Vec<Figure>,
}

impl Summary {
    pub(crate) fn line(&self) -> String {
        let plural = if self.launches == 1 { "" } else { "es" };
        format!("{}.\n{} launch{plural}; {}", self.machine, self.launches, self.took())
    }

    fn took(&self) -> String {
        format!("the run took {:.1} min", self.seconds / 60.0)
    }

    /// Reasons of a failed run, except missed budgets.
    pub(crate) fn reasons(&self) -> Vec<String> {
        let mut reasons = self.failures.clone();
        if self.all_suites && !self.quick {
            reasons.extend(self.too_few());
        }
        let (what, minutes, usual) =
            if self.quick { ("a first look", 3.0, 1) } else { ("a run", 20.0, LAUNCHES) };
        // More launches may take more time.
        let most = minutes * (self.launches as f64 / usual as f64).max(1.0);
        if self.seconds > most * 60.0 {
            reasons.push(format!("{}: {what} may take {most:.0} min", self.took()));
        }
        reasons
    }

    pub(crate) fn too_few(&self) -> Option<String> {
        let launches = self.launches;
        (launches < LAUNCHES)
            .then(|| format!("a full run takes at least {LAUNCHES} launches, not {launches}"))
    }

    /// Whether the [`reasons`](Self::reasons) are empty, all budgets are met, and a full run has
    /// measured them all.
    pub(crate) fn success(&self) -> bool {
        self.reasons().is_empty()
            && budget::success(&budget::judge(&self.figures), self.all_suites && !self.quick)
    }

    pub(crate) fn read() -> Result<Summary> {
        let file = directory()?.join("summary.json");
        let text = fs::read_to_string(&file).with_context(|| {
            format!("cannot read {}: `cargo xtask bench` writes it", file.display())
        })?;
        serde_json::from_str(&text)
            .with_context(|| format!("{} is of another release: measure again", file.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(quick: bool, seconds: f64) -> Summary {
        Summary {
            machine: String::new(),
            quick,
            all_suites: false,
            launches: 1,
            seconds,
            failures: Vec::new(),
            figures: Vec::new(),
        }
    }

    #[test]
    fn a_run_that_takes_too_long_fails_with_the_reason() {
        for (quick, most) in [(false, 1200.0), (true, 180.0)] {
            let run = |seconds| run(quick, seconds);
            assert!(run(most).success() && run(most).reasons().is_empty());
            assert!(!run(most + 1.0).success());
            assert!(Summary { launches: 10, ..run(2.0 * most) }.success());
            let why = run(2.0 * most).reasons().concat();
            assert!(why.starts_with(&format!("the run took {:.1} min: ", most / 30.0)), "{why}");
        }
    }

    #[test]
    fn a_full_run_of_few_launches_is_no_success() {
        let few = Summary { all_suites: true, launches: 4, ..run(false, 1.0) };
        assert!(few.reasons().concat().contains("at least 5 launches, not 4"));
    }

    #[test]
    fn a_summary_is_read_again() {
        let text = serde_json::to_string(&run(false, 642.0)).unwrap();
        assert_eq!(serde_json::from_str::<Summary>(&text).unwrap().took(), "the run took 10.7 min");
    }
}
