//! Response times of a load's commands.

use std::fmt;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::measure::{between, now};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pace {
    pub(crate) answers: u64,
    pub(crate) within: Duration,
    /// Median, and 99th percentile (`most`).
    pub(crate) median: Duration,
    pub(crate) most: Duration,
    /// Slowest command, including unanswered commands.
    pub(crate) longest: Duration,
}

impl Pace {
    pub(crate) fn rate(&self) -> f64 {
        self.answers as f64 / self.within.as_secs_f64().max(f64::EPSILON)
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Pace { median, most, longest, .. } = self;
        write!(
            f,
            "{:.0}/s, median {median:.1?}, 99 % {most:.1?}, longest {longest:.1?}",
            self.rate()
        )
    }
}

pub(super) struct Meter {
    since: u64,
    times: Histogram<u64>,
}

impl Meter {
    pub(super) fn new() -> Meter {
        Meter { since: now(), times: Histogram::new(2).expect("two digits") }
    }

    pub(super) fn add(&mut self, took: u64) {
        self.times.record(took).expect("it grows");
    }

    /// Takes the counts since the last report; the oldest unanswered command was sent at `oldest`.
    pub(super) fn take(&mut self, oldest: Option<u64>) -> Pace {
        let Meter { since, times } = std::mem::replace(self, Meter::new());
        let waits = oldest.map_or(0, |oldest| self.since.saturating_sub(oldest));
        let share = |quantile| Duration::from_nanos(times.value_at_quantile(quantile));
        Pace {
            answers: times.len(),
            within: between(since, self.since),
            median: share(0.5),
            most: share(0.99),
            longest: Duration::from_nanos(times.max().max(waits)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_is_that_since_the_last_one() {
        let mut meter = Meter::new();
        (0..98).for_each(|_| meter.add(1000));
        meter.add(50_000);
        meter.add(1_000_000);
        let Pace { answers, median, most, longest, .. } = meter.take(None);
        let [median, most, longest] = [median, most, longest].map(|time| time.as_nanos());
        assert!(answers == 100 && (1000..1010).contains(&median), "{answers}, {median}");
        assert!((50_000..50_500).contains(&most), "{most}");
        assert!((1_000_000..1_010_001).contains(&longest), "{longest}");
        assert_eq!(meter.take(None).answers, 0);
    }

    #[test]
    fn a_command_that_is_not_answered_is_the_slowest() {
        let hour = Duration::from_secs(3600);
        let long_ago = now().saturating_sub(hour.as_nanos() as u64);
        let mut meter = Meter::new();
        meter.add(1000);
        let pace = meter.take(Some(long_ago));
        assert!(
            pace.longest > Duration::from_secs(60) && pace.median < Duration::from_millis(1),
            "{pace}"
        );
    }
}
