//! How quickly the commands of a load are answered.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::measure::{between, now};

/// From one bucket to the next a time grows by an eighth at most.
const STEPS: usize = 8;
const OCTAVES: usize = 64;

/// How quickly commands were answered from one order to tell it to the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pace {
    pub(crate) answers: u64,
    pub(crate) within: Duration,
    /// How long half of the commands took at most, and 99 of a hundred.
    pub(crate) median: Duration,
    pub(crate) most: Duration,
    /// How long the slowest took. Those count that are not answered yet.
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

/// Counts the times of a load in buckets: as many bytes, however many commands there are.
pub(super) struct Meter {
    since: u64,
    buckets: Vec<u64>,
    longest: u64,
}

impl Meter {
    pub(super) fn new() -> Meter {
        Meter { since: now(), buckets: vec![0; OCTAVES * STEPS], longest: 0 }
    }

    pub(super) fn add(&mut self, took: u64) {
        self.buckets[bucket(took)] += 1;
        self.longest = self.longest.max(took);
    }

    /// What was counted since the last time; the oldest unanswered command was sent at `oldest`.
    pub(super) fn take(&mut self, oldest: Option<u64>) -> Pace {
        let Meter { since, buckets, longest } = std::mem::replace(self, Meter::new());
        let waits = oldest.map_or(0, |oldest| self.since.saturating_sub(oldest));
        let answers: u64 = buckets.iter().sum();
        let share = |percent: u64| {
            let mut left = (answers * percent).div_ceil(100).max(1);
            let found = buckets.iter().position(|count| {
                left = left.saturating_sub(*count);
                left == 0
            });
            Duration::from_nanos(found.map_or(0, |bucket| end(bucket).min(longest)))
        };
        Pace {
            answers,
            within: between(since, self.since),
            median: share(50),
            most: share(99),
            longest: Duration::from_nanos(longest.max(waits)),
        }
    }
}

/// The bucket of a time: its highest bit, and the three behind it.
fn bucket(nanos: u64) -> usize {
    let nanos = nanos.max(STEPS as u64);
    let octave = nanos.ilog2();
    octave as usize * STEPS + (nanos >> (octave - 3)) as usize % STEPS
}

fn end(bucket: usize) -> u64 {
    let (octave, step) = (bucket / STEPS, bucket % STEPS);
    (((STEPS + step + 1) as u128) << octave >> 3) as u64 - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_lies_in_a_bucket_that_ends_an_eighth_above_it_at_most() {
        for nanos in [8, 9, 15, 16, 1000, 1_000_000, 10_000_000_007] {
            let end = end(bucket(nanos));
            assert!(nanos <= end && end - nanos <= nanos / STEPS as u64, "{nanos} and {end}");
        }
        assert!(bucket(u64::MAX) < OCTAVES * STEPS);
    }

    #[test]
    fn a_pace_is_that_since_the_last_one() {
        let mut meter = Meter::new();
        (0..98).for_each(|_| meter.add(1000));
        meter.add(50_000);
        meter.add(1_000_000);
        let Pace { answers, median, most, longest, .. } = meter.take(None);
        let [median, most, longest] = [median, most, longest].map(|time| time.as_nanos());
        assert!(answers == 100 && (1000..1125).contains(&median), "{answers}, {median}");
        assert!((50_000..56_250).contains(&most) && longest == 1_000_000, "{most}, {longest}");
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
