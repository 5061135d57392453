//! What is measured, half round trips, and how far a long run is.

use std::time::{Duration, Instant};

/// At most so many rounds pay for connections and cold caches without being measured.
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

/// The rounds of a run.
#[derive(Debug)]
pub(crate) struct Report {
    rounds: u32,
    done: u32,
    /// How long the measured ones took, there and back.
    trips: Vec<Duration>,
    begin: Instant,
    /// When progress is printed next: after 2 s, and then after twice the time each.
    next: Duration,
}

impl Report {
    pub(crate) fn new(rounds: u32) -> Report {
        let trips = Vec::with_capacity(rounds as usize);
        Report { rounds, done: 0, trips, begin: Instant::now(), next: Duration::from_secs(2) }
    }

    /// Notes a round; a long run prints its progress.
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

    /// Names of columns and a line of figures.
    pub(crate) fn table(mut self, launcher: &str, bytes: usize, how: &str) -> String {
        self.trips.sort_unstable();
        let half = |percent: usize| {
            let place = (self.trips.len() * percent).div_ceil(100).max(1) - 1;
            let trip = self.trips.get(place).copied().unwrap_or_default();
            format!("{:>9.2}", trip.as_secs_f64() * 1e6 / 2.0)
        };
        // As wide as they ever get, so that the tables of several runs make one.
        let (bytes, rounds) = (format!("{bytes:>9}"), format!("{:>8}", self.rounds));
        let (how, measured) = (format!("{how:>10}"), self.trips.len().to_string());
        let row = [launcher.to_owned(), bytes, how, rounds, measured, half(0), half(50), half(99)];
        example_common::render(HEAD, &[row])
    }
}

/// How many of so many rounds are not measured.
fn warm_up(rounds: u32) -> u32 {
    (rounds / 10).min(WARM_UP)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last line's cells of a run whose round `n`, from 1, took `trip(n)` microseconds.
    fn cells(rounds: u32, trip: impl Fn(u64) -> u64) -> Vec<String> {
        let mut report = Report::new(rounds);
        (1..=rounds.into()).for_each(|round| report.round(Duration::from_micros(trip(round))));
        let table = report.table("MPI", 8, "inline");
        assert_eq!(table.lines().count(), 2);
        table.lines().last().unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn figures_are_of_half_round_trips_and_of_the_right_rank() {
        // What is slow in the first ten of them is not measured; falling, so that nobody forgets to
        // sort.
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
