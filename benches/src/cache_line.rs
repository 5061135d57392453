//! How long a cache line takes from one core to the other and back: the yardstick that tells "near" cores from "far"
//! ones, because a virtual machine's change without notice.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::cores::pin;

/// How many round trips one figure takes, and how many figures there are.
const TRIPS: u64 = 20_000;
const ROUNDS: u64 = 5;

/// The median time of one round trip between two cores. The calling thread stays where it is.
///
/// # Errors
/// When the system has no such cores.
pub(crate) fn round_trip(cores: [usize; 2]) -> rustix::io::Result<Duration> {
    let line = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let there = scope.spawn(|| answer(cores[1], &line));
        let here = scope.spawn(|| ask(cores[0], &line));
        there.join().expect("this end only counts")?;
        here.join().expect("this end only counts")
    })
}

// Both go on when they cannot be pinned: the other end would wait for ever, and the error is reported in the end.

fn ask(core: usize, line: &AtomicU64) -> rustix::io::Result<Duration> {
    let pinned = pin(core);
    let mut rounds: Vec<_> = (0..ROUNDS)
        .map(|round| {
            let start = Instant::now();
            for trip in round * TRIPS..(round + 1) * TRIPS {
                line.store(2 * trip + 1, Ordering::Release);
                wait_for(line, 2 * trip + 2);
            }
            start.elapsed() / TRIPS as u32
        })
        .collect();
    rounds.sort();
    pinned.map(|()| rounds[rounds.len() / 2])
}

fn answer(core: usize, line: &AtomicU64) -> rustix::io::Result<()> {
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
