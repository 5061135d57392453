//! How much is measured: a first look, or figures to quote.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::cache_line;
use crate::cores::Cores;
use crate::figure::{Figure, merge};

/// The launches of a full run, and the fewest it may have: the median of fewer is one that had luck.
pub(crate) const LAUNCHES: usize = 5;

/// How much is measured, and where.
#[derive(Clone, Debug)]
pub(crate) struct Extent {
    /// Fewer and shorter rounds: a first look, not a figure to quote.
    pub(crate) quick: bool,
    /// How many times everything is started anew, because the placement of memory and threads differs from launch to
    /// launch.
    pub(crate) launches: usize,
    /// The cores that measurements are pinned to.
    pub(crate) cores: Cores,
}

impl Extent {
    /// Five launches, or as many as were asked for; a first look takes one.
    pub(crate) fn new(quick: bool, launches: Option<usize>) -> Result<Extent> {
        let launches = launches.unwrap_or(if quick { 1 } else { LAUNCHES });
        Ok(Extent { quick, launches, cores: Cores::find()? })
    }

    /// How many rounds each side of a comparison has in a launch.
    pub(crate) fn rounds(&self) -> usize {
        if self.quick { 5 } else { 15 }
    }

    /// How long one round of one side is to last.
    pub(crate) fn round(&self) -> Duration {
        Duration::from_millis(if self.quick { 8 } else { 20 })
    }

    /// How many single trips go into a histogram in a launch, of a kind that takes about as long as `each`.
    pub(crate) fn samples(&self, each: Duration) -> u64 {
        let whole = Duration::from_millis(if self.quick { 100 } else { 400 });
        (whole.as_nanos() / each.as_nanos().max(1)).clamp(100, 200_000) as u64
    }

    /// Runs `launch` as often as this extent says, with a cache-line ping before each, and merges what they measured.
    /// The ping becomes a figure of the suite's.
    ///
    /// # Errors
    /// The first launch's that fails.
    pub(crate) fn launches(
        &self,
        suite: &str,
        mut launch: impl FnMut(usize) -> Result<Vec<Figure>>,
    ) -> Result<Vec<Figure>> {
        let mut measured = Vec::new();
        for number in 1..=self.launches {
            eprintln!("{suite}: launch {number} of {}", self.launches);
            let ping = cache_line::round_trip(self.cores.pair())
                .context("cannot pin a thread to a core")?;
            let note =
                "a cache line from one core to the other and back: tells near cores from far ones";
            let ping =
                Figure::new(format!("{suite}/cache-line"), "ns", ping.as_nanos() as f64).note(note);
            measured.push(vec![ping]);
            measured.push(launch(number).with_context(|| format!("{suite}, launch {number}"))?);
        }
        Ok(merge(measured))
    }
}
