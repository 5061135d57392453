//! The round trip of a cache line between two cores, which separates near cores from far cores.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::cores::{Cores, pin};
use crate::statistics::of_rounds;

const TRIPS: u64 = 20_000;
const ROUNDS: u64 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Distance {
    Near,
    Far,
}

/// Limit of the round trip between near cores, in nanoseconds: 59 to 86 were measured, and 93 to
/// 346 between far cores.
const NEAR: f64 = 90.0;

impl Distance {
    pub(crate) fn of(round_trip: f64) -> Distance {
        if round_trip < NEAR { Distance::Near } else { Distance::Far }
    }
}

/// Returns the median of the rounds, in nanoseconds. Does not pin the calling thread.
pub(crate) fn round_trip(cores: &Cores) -> Result<f64> {
    let line = AtomicU64::new(0);
    // Each end writes every second number, and waits for the others.
    let end = |core, writes: u64| -> Result<Vec<f64>> {
        // An end continues if it cannot be pinned, because the other end would wait for ever.
        let pinned = pin(core);
        let rounds = (0..ROUNDS).map(|round| {
            let start = Instant::now();
            for trip in round * TRIPS..(round + 1) * TRIPS {
                for number in [1, 2].map(|half| 2 * trip + half) {
                    if number % 2 == writes {
                        line.store(number, Ordering::Release);
                    }
                    while line.load(Ordering::Acquire) < number {
                        std::hint::spin_loop();
                    }
                }
            }
            start.elapsed().as_nanos() as f64 / TRIPS as f64
        });
        let rounds = rounds.collect();
        pinned.map(|()| rounds)
    };
    std::thread::scope(|scope| {
        let there = scope.spawn(|| end(cores.worker(), 0));
        let here = scope.spawn(|| end(cores.host(0), 1));
        there.join().expect("this end only counts")?;
        of_rounds(&here.join().expect("this end only counts")?)
    })
}
