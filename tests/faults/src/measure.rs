//! Times comparable between processes, and their maxima.

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::suite::Figure;

/// Current time, in nanoseconds of the machine's `CLOCK_MONOTONIC`.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// Returns the time between two moments; zero if `end` is earlier.
pub(crate) fn between(begin: u64, end: u64) -> Duration {
    Duration::from_nanos(end.saturating_sub(begin))
}

#[derive(Debug, Default)]
pub(crate) struct Times(BTreeMap<(String, Option<Duration>), Vec<Duration>>);

impl Times {
    pub(crate) fn add(
        &mut self,
        name: impl Into<String>,
        budget: Option<Duration>,
        took: Duration,
    ) {
        self.0.entry((name.into(), budget)).or_default().push(took);
    }

    pub(crate) fn merge(&mut self, other: Times) {
        for (name, times) in other.0 {
            self.0.entry(name).or_default().extend(times);
        }
    }

    pub(crate) fn figures(self) -> Vec<Figure> {
        let figure =
            |((name, budget), times): ((String, Option<Duration>), Vec<Duration>)| Figure {
                budget: budget.map(|budget| budget.as_secs_f64()),
                ..Figure::new(
                    name,
                    "s",
                    times.iter().max().copied().unwrap_or_default().as_secs_f64(),
                    match times.len() {
                        1 => "the only one".to_owned(),
                        many => format!("the longest of {many}"),
                    },
                )
            };
        self.0.into_iter().map(figure).collect()
    }
}
