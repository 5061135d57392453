//! Everything that a run found, as JSON.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::budget::{self, Verdict};
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

    /// Whether every suite went through, every budget is met, and none is missing in a run that was to measure all.
    pub(crate) fn success(&self) -> bool {
        self.failures.is_empty() && budget::success(&self.budgets, self.all_suites && !self.quick)
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
        let text = fs::read_to_string(file)
            .with_context(|| format!("cannot read {}: `cargo xtask bench` writes it", file.display()))?;
        let summary: Summary = serde_json::from_str(&text)
            .with_context(|| format!("{} is of another release: measure anew", file.display()))?;
        Ok(summary.judged())
    }
}
