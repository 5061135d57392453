//! The spread of samples, in a form that travels between processes and into the summary.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Two digits: each bar stands for values that differ by less than 1 %.
const DIGITS: u8 = 2;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Distribution {
    pub(crate) p50: u64,
    pub(crate) p90: u64,
    pub(crate) p99: u64,
    pub(crate) p999: u64,
    pub(crate) max: u64,
    pub(crate) count: u64,
    /// Values, rising, and the number of samples of each.
    pub(crate) bars: Vec<(u64, u64)>,
}

pub(crate) struct Recorder(Histogram<u64>);

impl Recorder {
    /// Without samples. A sample of more than a minute counts as a minute.
    pub(crate) fn new() -> Recorder {
        let histogram = Histogram::new_with_bounds(1, 60_000_000_000, DIGITS);
        Recorder(histogram.expect("the bounds and digits are in range"))
    }

    #[inline]
    pub(crate) fn record(&mut self, nanoseconds: u64) {
        self.0.saturating_record(nanoseconds.max(1));
    }

    pub(crate) fn finish(self) -> Distribution {
        let at = |quantile| self.0.value_at_quantile(quantile);
        let bars = self.0.iter_recorded();
        Distribution {
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: self.0.max(),
            count: self.0.len(),
            bars: bars.map(|bar| (bar.value_iterated_to(), bar.count_at_value())).collect(),
        }
    }
}

impl Distribution {
    /// All samples of several distributions.
    pub(crate) fn sum<'a>(parts: impl Iterator<Item = &'a Distribution>) -> Option<Distribution> {
        let mut recorder = None;
        for (nanoseconds, count) in parts.flat_map(|part| &part.bars) {
            let recorder = recorder.get_or_insert_with(Recorder::new);
            recorder.0.saturating_record_n((*nanoseconds).max(1), *count);
        }
        recorder.map(Recorder::finish)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(samples: impl IntoIterator<Item = u64>) -> Distribution {
        let mut recorder = Recorder::new();
        samples.into_iter().for_each(|sample| recorder.record(sample));
        recorder.finish()
    }

    #[test]
    fn percentiles_are_those_of_the_samples() {
        let distribution = of(1..=1000);
        let near = |value: u64, expected: u64| value.abs_diff(expected) * 100 <= expected;
        assert!(near(distribution.p50, 500) && near(distribution.p90, 900), "{distribution:?}");
        assert!(near(distribution.p99, 990) && near(distribution.max, 1000), "{distribution:?}");
        assert_eq!(distribution.count, 1000);
    }

    #[test]
    fn a_sum_is_what_one_recorder_would_have_made() {
        assert_eq!(Distribution::sum([of(1..500), of(500..=1000)].iter()), Some(of(1..=1000)));
        assert_eq!(Distribution::sum([].iter()), None);
    }

    #[test]
    fn nothing_and_too_much_are_recorded_at_the_ends() {
        let distribution = of([0, u64::MAX]);
        assert_eq!(distribution.bars.len(), 2);
        assert_eq!((distribution.bars[0].0, distribution.count), (1, 2));
    }
}
