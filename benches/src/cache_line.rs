//! How long a cache line takes from one core to the other and back: the yardstick that tells "near" cores from "far"
//! ones, because a virtual machine's change without notice.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_setaffinity};

/// Pins the calling thread.
///
/// # Errors
/// When the system has no such core, or does not give it.
pub(crate) fn pin(core: usize) -> rustix::io::Result<()> {
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set)
}

/// The median time of one round trip between two cores.
pub(crate) fn round_trip(cores: [usize; 2]) -> rustix::io::Result<Duration> {
    const TRIPS: u64 = 20_000;
    const ROUNDS: u64 = 5;
    let line = Arc::new(AtomicU64::new(0));
    let other = {
        let line = Arc::clone(&line);
        std::thread::spawn(move || {
            pin(cores[1])?;
            for trip in 0..TRIPS * ROUNDS {
                while line.load(Ordering::Acquire) != 2 * trip + 1 {
                    std::hint::spin_loop();
                }
                line.store(2 * trip + 2, Ordering::Release);
            }
            rustix::io::Result::Ok(())
        })
    };
    pin(cores[0])?;
    let mut rounds: Vec<_> = (0..ROUNDS)
        .map(|round| {
            let start = Instant::now();
            for trip in round * TRIPS..(round + 1) * TRIPS {
                line.store(2 * trip + 1, Ordering::Release);
                while line.load(Ordering::Acquire) != 2 * trip + 2 {
                    std::hint::spin_loop();
                }
            }
            start.elapsed() / TRIPS as u32
        })
        .collect();
    rounds.sort();
    other.join().expect("the other end only counts")?;
    Ok(rounds[rounds.len() / 2])
}
