//! Keeps a virtual machine's timers running during a suite, and measures their delay.
//!
//! On some virtual machines an idle processor misses its timer, and a sleeping process wakes
//! seconds late. A thread on each processor that wakes a hundred times a second prevents that.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

const NAP: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub(crate) struct Awake {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    over: AtomicBool,
    /// Longest oversleep, in nanoseconds.
    late: AtomicU64,
}

impl Awake {
    pub(crate) fn begin() -> Result<Awake> {
        let processors = sched_getaffinity(None)
            .context("the system does not say which processors there are")?;
        let mut awake = Awake { shared: Arc::default(), threads: Vec::new() };
        for processor in (0..CpuSet::MAX_CPU).filter(|processor| processors.is_set(*processor)) {
            let shared = Arc::clone(&awake.shared);
            let thread = thread::Builder::new().name(format!("awake-{processor}"));
            let thread =
                thread.spawn(move || nap(processor, &shared)).context("cannot start a thread")?;
            awake.threads.push(thread);
        }
        Ok(awake)
    }

    pub(crate) fn end(mut self) -> Duration {
        self.join();
        Duration::from_nanos(self.shared.late.load(Ordering::Relaxed))
    }

    fn join(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.join();
    }
}

fn nap(processor: usize, shared: &Shared) {
    let mut set = CpuSet::new();
    set.set(processor);
    let _ = sched_setaffinity(None, &set);
    while !shared.over.load(Ordering::Relaxed) {
        let begin = Instant::now();
        thread::sleep(NAP);
        let late = begin.elapsed().saturating_sub(NAP);
        shared
            .late
            .fetch_max(u64::try_from(late.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}
