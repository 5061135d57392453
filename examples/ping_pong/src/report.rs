//! Measurements of half round trips, and progress of long runs.

use std::time::{Duration, Instant};

/// Maximum of unmeasured rounds, which open connections and warm caches.
const WARM_UP: u32 = 100;

const HEAD: [&str; 8] = [
    "started by",
    "bytes",
    "sent",
    "rounds",
    "measured",
    "half round trip [us]: min",
    "median",
    "p99",
];

#[derive(Debug)]
pub(crate) struct Report {
    rounds: u32,
    done: u32,
    /// Times of the measured round trips.
    trips: Vec<Duration>,
    begin: Instant,
    /// Time of the next progress line: 2 s, then twice as late each time.
    next: Duration,
}

impl Report {
    pub(crate) fn new(rounds: u32) -> Report {
        let trips = Vec::with_capacity(rounds as usize);
        Report { rounds, done: 0, trips, begin: Instant::now(), next: Duration::from_secs(2) }
    }

    pub(crate) fn round(&mut self, trip: Duration) {
        if self.done >= warm_up(self.rounds) {
            self.trips.push(trip);
        }
        self.done += 1;
        let time = self.begin.elapsed();
        if time >= self.next {
            eprintln!("ping_pong: {} of {} rounds in {} s", self.done, self.rounds, time.as_secs());
            self.next = (2 * time).min(time + Duration::from_secs(60));
        }
    }

    pub(crate) fn table(mut self, launcher: &str, bytes: usize, how: &str) -> String {
        self.trips.sort_unstable();
        let half = |percent: usize| {
            let index = (self.trips.len() * percent).div_ceil(100).max(1) - 1;
            let trip = self.trips.get(index).copied().unwrap_or_default();
            format!("{:>9.2}", trip.as_secs_f64() * 1e6 / 2.0)
        };
        // Fixed widths, so the tables of several runs fit together.
        let (bytes, rounds) = (format!("{bytes:>9}"), format!("{:>8}", self.rounds));
        let (how, measured) = (format!("{how:>10}"), self.trips.len().to_string());
        let row = [launcher.to_owned(), bytes, how, rounds, measured, half(0), half(50), half(99)];
        example_common::render(HEAD, &[row])
    }
}

fn warm_up(rounds: u32) -> u32 {
    (rounds / 10).min(WARM_UP)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(rounds: u32, trip: impl Fn(u64) -> u64) -> Vec<String> {
        let mut report = Report::new(rounds);
        (1..=rounds.into()).for_each(|round| report.round(Duration::from_micros(trip(round))));
        let table = report.table("MPI", 8, "inline");
        assert_eq!(table.lines().count(), 2);
        table.lines().last().unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn figures_are_of_half_round_trips_and_of_the_right_rank() {
        // The slow first rounds are not measured. The times fall, to test the sorting.
        let found = cells(110, |round| if round <= 11 { 9000 } else { 2 * (111 - round) });
        assert_eq!(found, ["MPI", "8", "inline", "110", "99", "1.00", "50.00", "99.00"]);
    }

    #[test]
    fn a_single_round_is_measured_and_is_its_own_minimum_and_median() {
        assert_eq!(cells(1, |_| 6), ["MPI", "8", "inline", "1", "1", "3.00", "3.00", "3.00"]);
    }

    #[test]
    fn few_rounds_are_all_measured_and_of_many_all_but_a_hundred() {
        assert_eq!(
            [1, 9, 10, 500, 1000, 1001, 10_000_000].map(warm_up),
            [0, 0, 1, 50, 100, 100, 100]
        );
    }
}
