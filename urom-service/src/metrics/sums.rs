//! Sums of a command's counters over workers.

use urom_abi::DocaError;

use super::{BUCKETS, CODES, CommandRow, bucket_limit};

#[derive(Debug, Clone, Default)]
pub(crate) struct CommandSums {
    received: u64,
    begun: u64,
    ended: u64,
    pub(crate) cancelled: u64,
    pub(crate) timed_out: u64,
    pub(crate) nanoseconds: u64,
    /// Failures by code.
    pub(crate) codes: [u64; CODES],
    pub(crate) buckets: [u64; BUCKETS],
}

impl CommandSums {
    pub(crate) fn add(&mut self, row: &CommandRow) {
        // Answers first: a command that ends meanwhile then counts as in flight.
        self.ended += row.ended.get();
        self.begun += row.begun.get();
        self.received += row.received.get();
        self.cancelled += row.cancelled.get();
        self.timed_out += row.timed_out.get();
        self.nanoseconds = self.nanoseconds.saturating_add(row.nanoseconds.get());
        self.codes.iter_mut().zip(&row.codes).for_each(|(sum, word)| *sum += word.get());
        self.buckets.iter_mut().zip(&row.buckets).for_each(|(sum, word)| *sum += word.get());
    }

    /// Counts commands in flight as failures, because their worker has ended.
    pub(crate) fn settle(&mut self) {
        self.codes[DocaError::CONNECTION_RESET.code() as usize] += self.in_flight();
        self.ended = self.begun;
    }

    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    pub(crate) fn in_flight(&self) -> u64 {
        self.begun.saturating_sub(self.ended)
    }

    pub(crate) fn failed(&self) -> u64 {
        self.codes.iter().sum()
    }

    pub(crate) fn succeeded(&self) -> u64 {
        let ended = self.received.saturating_sub(self.in_flight());
        ended.saturating_sub(self.failed())
    }

    /// Returns the duration in nanoseconds that this share of the commands does not exceed, as the
    /// end of a bucket; `None` without commands, or in the last bucket.
    pub(crate) fn quantile(&self, share: f64) -> Option<u64> {
        let rank = (self.buckets.iter().sum::<u64>() as f64 * share).ceil() as u64;
        let mut sum = 0;
        let bucket = self.buckets.iter().position(|count| {
            sum += count;
            sum >= rank.max(1)
        });
        bucket_limit(bucket?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MetricsPage, RowKey};
    use super::*;

    #[test]
    fn sums_tell_successes_failures_and_durations_apart() {
        let (page, _fd) = MetricsPage::create().unwrap();
        let row = page.row(RowKey::of(0, &[]));
        row.received.add(15);
        row.begun.add(5);
        row.ended.add(4);
        row.failed(6);
        row.took(300, 98);
        row.took(5_000, 2);
        let mut sums = CommandSums::default();
        assert_eq!(sums.quantile(0.5), None);
        sums.add(row);
        assert_eq!((sums.received(), sums.in_flight(), sums.failed()), (15, 1, 1));
        assert_eq!(sums.succeeded(), 13);
        assert_eq!((sums.quantile(0.5), sums.quantile(0.99)), (Some(512), Some(8192)));
        assert_eq!(sums.nanoseconds, 300 * 98 + 5_000 * 2);
        sums.settle();
        assert_eq!((sums.in_flight(), sums.failed(), sums.succeeded()), (0, 2, 13));
        row.took(u64::MAX, 1_000);
        sums.add(row);
        assert_eq!(sums.quantile(0.99), None, "the last bucket has no end");
    }
}
