//! Measures the turns of the daemon's loop: each poll of one of its futures is one.
//!
//! The loop must not be kept from its heartbeats. A turn is measured in CPU time of its thread, and
//! by whether the thread was put to sleep in it, which a system call did that waits.

use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tracing::debug;
use urom_os::clock;

const LIMIT: Duration = Duration::from_millis(50);

/// The longest turn so far and the longest time in which one slept, in nanoseconds: of all loops of
/// this process.
static LONGEST: AtomicU64 = AtomicU64::new(0);
static SLEPT: AtomicU64 = AtomicU64::new(0);

/// Measures the turns of a future of the daemon's loop; `what` is its name in log lines.
pub(crate) async fn measured<F: Future>(what: &'static str, future: F) -> F::Output {
    let mut future = Box::pin(future);
    poll_fn(|cx| {
        let before = Usage::of_this_thread();
        let result = future.as_mut().poll(cx);
        note(what, before, Usage::of_this_thread());
        result
    })
    .await
}

fn note(what: &str, before: Usage, after: Usage) {
    let took = after.cpu.saturating_sub(before.cpu);
    LONGEST.fetch_max(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    if took > LIMIT {
        debug!("a turn of the loop took {took:.1?} of CPU time: {what}");
    }
    if after.sleeps > before.sleeps {
        // It waited for a processor, too: no more is known.
        let slept = after.time.saturating_sub(before.time).saturating_sub(took);
        SLEPT.fetch_max(u64::try_from(slept.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        debug!("a turn of the loop slept for {slept:.1?} at most: {what}");
    }
}

pub(crate) fn so_far() -> [Duration; 2] {
    [&LONGEST, &SLEPT].map(|most| Duration::from_nanos(most.load(Ordering::Relaxed)))
}

#[derive(Debug, Clone, Copy, Default)]
struct Usage {
    time: Duration,
    cpu: Duration,
    sleeps: u64,
}

impl Usage {
    fn of_this_thread() -> Usage {
        // SAFETY: all zero is a valid value of this structure of numbers.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: there is room for what is told.
        if unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) } != 0 {
            return Usage::default();
        }
        Usage {
            time: clock::of(libc::CLOCK_MONOTONIC),
            cpu: clock::of(libc::CLOCK_THREAD_CPUTIME_ID),
            sleeps: usage.ru_nvcsw.unsigned_abs(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_that_sleeps_or_works_for_long_is_noticed() {
        let before = Usage::of_this_thread();
        std::thread::sleep(Duration::from_millis(1));
        let slept = Usage::of_this_thread();
        assert!(slept.sleeps > before.sleeps);
        while Usage::of_this_thread().cpu < slept.cpu + LIMIT {}
        note("a test", before, Usage::of_this_thread());
        let [longest, slept] = so_far();
        assert!(longest >= LIMIT && slept >= Duration::from_millis(1), "{longest:?}, {slept:?}");
    }

    #[tokio::test]
    async fn a_measured_future_gives_what_it_gives() {
        let twice = async {
            tokio::task::yield_now().await;
            7
        };
        assert_eq!(measured("a test", twice).await, 7);
    }
}
