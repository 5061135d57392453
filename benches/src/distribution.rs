//! The spread of samples, serializable between processes and in the summary.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Samples in nanoseconds, serialized as rising values, each with its count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<(u64, u64)>", into = "Vec<(u64, u64)>")]
pub(crate) struct Distribution(Histogram<u64>);

impl Distribution {
    /// Starts empty. A sample of more than a minute counts as a minute.
    pub(crate) fn new() -> Distribution {
        // Two digits: values that differ by less than 1 % may be merged.
        let histogram = Histogram::new_with_bounds(1, 60_000_000_000, 2);
        Distribution(histogram.expect("the bounds and digits are in range"))
    }

    #[inline]
    pub(crate) fn record(&mut self, nanoseconds: u64) {
        self.0.saturating_record(nanoseconds.max(1));
    }

    /// Returns a quantile: 0.5 is the median, 1 the longest.
    pub(crate) fn at(&self, quantile: f64) -> u64 {
        self.0.value_at_quantile(quantile)
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.len()
    }

    pub(crate) fn bars(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter_recorded().map(|bar| (bar.value_iterated_to(), bar.count_at_value()))
    }

    pub(crate) fn sum<'a>(parts: impl Iterator<Item = &'a Distribution>) -> Option<Distribution> {
        let bars: Vec<_> = parts.flat_map(Distribution::bars).collect();
        (!bars.is_empty()).then(|| bars.into())
    }
}

impl From<Vec<(u64, u64)>> for Distribution {
    fn from(bars: Vec<(u64, u64)>) -> Distribution {
        let mut all = Distribution::new();
        bars.iter().for_each(|(value, count)| all.0.saturating_record_n((*value).max(1), *count));
        all
    }
}

impl From<Distribution> for Vec<(u64, u64)> {
    fn from(of: Distribution) -> Vec<(u64, u64)> {
        of.bars().collect()
    }
}

#[cfg(test)]
impl FromIterator<u64> for Distribution {
    fn from_iter<I: IntoIterator<Item = u64>>(samples: I) -> Distribution {
        let mut all = Distribution::new();
        samples.into_iter().for_each(|sample| all.record(sample));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_samples() {
        let distribution = Distribution::from_iter(1..=1000);
        for (quantile, expected) in [(0.5, 500), (0.9, 900), (0.99, 990), (1.0, 1000)] {
            let value = distribution.at(quantile);
            assert!(value.abs_diff(expected) * 100 <= expected, "{quantile}: {value}");
        }
        assert_eq!(distribution.count(), 1000);
    }

    #[test]
    fn a_sum_is_what_one_would_have_recorded_and_survives_the_way() {
        let parts = [Distribution::from_iter(1..500), Distribution::from_iter(500..=1000)];
        let sum = Distribution::sum(parts.iter()).unwrap();
        assert!(sum.bars().eq(Distribution::from_iter(1..=1000).bars()));
        let text = serde_json::to_string(&sum).unwrap();
        assert_eq!(serde_json::from_str::<Distribution>(&text).unwrap(), sum);
        assert_eq!(Distribution::sum([].iter()), None);
    }

    #[test]
    fn nothing_and_too_much_are_recorded_at_the_ends() {
        let distribution = Distribution::from_iter([0, u64::MAX]);
        assert_eq!((distribution.bars().count(), distribution.count()), (2, 2));
        assert_eq!(distribution.bars().next(), Some((1, 1)));
    }
}
