//! Timing steps of a few nanoseconds: the mean of many, less what reading the clock takes. A virtual machine's clock may tell tens
//! of nanoseconds only, of which a median would be one; a tenth of the samples, the slowest, does not count.

use rustix::time::{ClockId, clock_gettime};

use crate::distribution::{Distribution, Recorder};

/// How many readings say what one takes.
const READINGS: u32 = 100_000;

/// The time now, in nanoseconds.
#[inline]
pub(super) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Steps that follow each other, timed again and again.
pub(super) struct Steps<const N: usize>([Recorder; N]);

impl<const N: usize> Steps<N> {
    /// Not timed yet.
    pub(super) fn new() -> Steps<N> {
        Steps(std::array::from_fn(|_| Recorder::new()))
    }

    /// A step that began and ended then.
    #[inline]
    pub(super) fn record(&mut self, step: usize, begin: u64, end: u64) {
        self.0[step].record(end - begin);
    }

    /// What each takes: nanoseconds, never less than none.
    pub(super) fn means(self) -> [f64; N] {
        let reading = reading();
        self.0.map(|recorder| (mean(&recorder.finish()) - reading).max(0.0))
    }
}

/// What reading the clock takes.
fn reading() -> f64 {
    let mut recorder = Recorder::new();
    for _ in 0..READINGS {
        let begin = now();
        recorder.record(now() - begin);
    }
    mean(&recorder.finish())
}

/// The mean of the samples but the slowest tenth.
fn mean(of: &Distribution) -> f64 {
    let most = of.count - of.count / 10;
    let (mut sum, mut counted) = (0.0, 0);
    for (nanoseconds, count) in &of.bars {
        let count = (*count).min(most - counted);
        sum += *nanoseconds as f64 * count as f64;
        counted += count;
    }
    sum / most.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_tenth_does_not_count() {
        let mut recorder = Recorder::new();
        (0..9).for_each(|_| recorder.record(10));
        recorder.record(1_000_000);
        assert_eq!(mean(&recorder.finish()), 10.0);
        assert_eq!(mean(&Distribution::default()), 0.0);
    }

    #[test]
    fn a_step_of_nothing_takes_nothing() {
        let mut steps = Steps::<2>::new();
        for _ in 0..READINGS {
            let begin = now();
            let end = now();
            steps.record(0, begin, end);
            steps.record(1, begin, end + 1_000);
        }
        let [nothing, something] = steps.means();
        assert!(nothing < 500.0, "{nothing}");
        assert!(something > nothing + 500.0, "{something} {nothing}");
    }
}
