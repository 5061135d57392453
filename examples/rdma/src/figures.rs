//! Statistics, as `ib_write_bw` and `ib_send_lat` print them.

use std::time::Duration;

pub(crate) struct Latency {
    sorted: Vec<f64>,
}

impl Latency {
    pub(crate) fn new(times: &[Duration]) -> Latency {
        let mut sorted: Vec<_> = times.iter().map(|time| time.as_secs_f64() * 1e6).collect();
        sorted.sort_by(f64::total_cmp);
        Latency { sorted }
    }

    fn part(&self, part: f64) -> f64 {
        let last = self.sorted.len().saturating_sub(1);
        self.sorted.get((last as f64 * part).round() as usize).copied().unwrap_or(0.0)
    }

    pub(crate) fn typical(&self) -> f64 {
        self.part(0.5)
    }

    /// Returns iterations, minimum, maximum, typical, average, standard deviation, 99 % and 99.9 %.
    pub(crate) fn cells(&self) -> [String; 8] {
        let count = self.sorted.len().max(1) as f64;
        let average = self.sorted.iter().sum::<f64>() / count;
        let variance = self.sorted.iter().map(|time| (time - average).powi(2)).sum::<f64>() / count;
        let times = [self.part(0.0), self.part(1.0), self.typical(), average, variance.sqrt()];
        let [min, max, typical, average, deviation] = times.map(|time| format!("{time:.2}"));
        let [high, highest] = [0.99, 0.999].map(|part| format!("{:.2}", self.part(part)));
        [self.sorted.len().to_string(), min, max, typical, average, deviation, high, highest]
    }
}

pub(crate) struct Bandwidth {
    pub(crate) size: u64,
    /// Number of operations and duration of each batch.
    pub(crate) batches: Vec<(u64, Duration)>,
}

impl Bandwidth {
    fn rate((count, time): (u64, Duration)) -> f64 {
        count as f64 / time.as_secs_f64().max(1e-9)
    }

    fn average(&self) -> f64 {
        let count = self.batches.iter().map(|(count, _)| count).sum();
        Bandwidth::rate((count, self.batches.iter().map(|(_, time)| time).sum()))
    }

    pub(crate) fn megabytes(&self) -> f64 {
        self.average() * self.size as f64 / 1e6
    }

    /// Returns iterations, peak and average in MB/s, and millions of messages a second.
    pub(crate) fn cells(&self) -> [String; 4] {
        let count: u64 = self.batches.iter().map(|(count, _)| count).sum();
        let peak = self.batches.iter().copied().map(Bandwidth::rate).fold(0.0, f64::max);
        [
            count.to_string(),
            format!("{:.2}", peak * self.size as f64 / 1e6),
            format!("{:.2}", self.megabytes()),
            format!("{:.6}", self.average() / 1e6),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_summed_up_as_the_tools_do_it() {
        let times: Vec<_> = (1..=1000).rev().map(Duration::from_micros).collect();
        let latency = Latency::new(&times);
        assert_eq!(
            latency.cells(),
            ["1000", "1.00", "1000.00", "501.00", "500.50", "288.67", "990.00", "999.00"]
        );
    }

    #[test]
    fn a_bandwidth_is_that_of_all_batches_and_its_peak_that_of_the_best() {
        let second = Duration::from_secs(1);
        let bandwidth = Bandwidth { size: 1000, batches: vec![(1000, second), (3000, second)] };
        assert_eq!(bandwidth.cells(), ["4000", "3.00", "2.00", "0.002000"]);
    }
}
