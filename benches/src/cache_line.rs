//! The round trip of a cache line between two cores: it tells near cores from far ones.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::Result;

use crate::cores::{Cores, pin};
use crate::statistics::of_rounds;

/// The round trips of one round, and the number of rounds.
const TRIPS: u64 = 20_000;
const ROUNDS: u64 = 5;

/// The median of the rounds, in nanoseconds. The calling thread stays where it is.
pub(crate) fn round_trip(cores: &Cores) -> Result<f64> {
    let line = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let there = scope.spawn(|| answer(cores.worker(), &line));
        let here = scope.spawn(|| ask(cores.host(0), &line));
        there.join().expect("this end only counts")?;
        of_rounds(&here.join().expect("this end only counts")?)
    })
}

// Both go on when they cannot be pinned, as the other end would wait for ever.

fn ask(core: usize, line: &AtomicU64) -> Result<Vec<f64>> {
    let pinned = pin(core);
    let round = |round| {
        let start = Instant::now();
        for trip in round * TRIPS..(round + 1) * TRIPS {
            line.store(2 * trip + 1, Ordering::Release);
            wait_for(line, 2 * trip + 2);
        }
        start.elapsed().as_nanos() as f64 / TRIPS as f64
    };
    let rounds = (0..ROUNDS).map(round).collect();
    pinned.map(|()| rounds)
}

fn answer(core: usize, line: &AtomicU64) -> Result<()> {
    let pinned = pin(core);
    for trip in 0..TRIPS * ROUNDS {
        wait_for(line, 2 * trip + 1);
        line.store(2 * trip + 2, Ordering::Release);
    }
    pinned
}

fn wait_for(line: &AtomicU64, value: u64) {
    while line.load(Ordering::Acquire) != value {
        std::hint::spin_loop();
    }
}
