//! Measures the daemon loop's turns, which are polls of its futures. A long turn delays heartbeats.

use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tracing::debug;

use crate::metrics::{BUCKETS, bucket};

const LIMIT: Duration = Duration::from_millis(50);

static LONGEST: AtomicU64 = AtomicU64::new(0);

static TURNS: [AtomicU64; BUCKETS] = [const { AtomicU64::new(0) }; BUCKETS];

static NANOSECONDS: AtomicU64 = AtomicU64::new(0);

pub(crate) fn measured<F: Future>(
    what: &'static str,
    future: F,
) -> impl Future<Output = F::Output> {
    // An async function would store the future twice: as its argument, and in the box.
    let mut future = Box::pin(future);
    poll_fn(move |cx| {
        let begin = Instant::now();
        let result = future.as_mut().poll(cx);
        note(what, begin.elapsed());
        result
    })
}

fn note(what: &str, took: Duration) {
    let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
    TURNS[bucket(nanoseconds)].fetch_add(1, Ordering::Relaxed);
    NANOSECONDS.fetch_add(nanoseconds, Ordering::Relaxed);
    LONGEST.fetch_max(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    if took > LIMIT {
        debug!("a turn of the loop took {took:.1?}: {what}");
    }
}

pub(crate) fn longest() -> Duration {
    Duration::from_micros(LONGEST.load(Ordering::Relaxed))
}

/// Returns the number of turns by duration, and the sum of their nanoseconds.
pub(crate) fn histogram() -> ([u64; BUCKETS], u64) {
    let turns = TURNS.each_ref().map(|turns| turns.load(Ordering::Relaxed));
    (turns, NANOSECONDS.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_longest_turn_is_kept_and_the_result_is_the_future_s() {
        let twice = async {
            tokio::task::yield_now().await;
            let begin = Instant::now();
            while begin.elapsed() < LIMIT {}
            7
        };
        assert_eq!(measured("a test", twice).await, 7);
        assert!(longest() >= LIMIT);
    }
}
