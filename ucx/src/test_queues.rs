//! Blocks a UCX receive queue in shared memory as a process does that dies while it sends: takes a
//! place and never fills it. For tests of what happens to all others.

use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

/// Set in the process that runs one test alone.
const ALONE: &str = "UROM_TEST_QUEUE_ALONE";

/// Runs the test `name` alone in a process of its own, and returns true; false in that process.
/// Queues are found by their counters, and other tests have queues, too.
pub fn ran_alone(name: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return false;
    }
    let mut command = this_program();
    let output = command.args(["--exact", name]).env(ALONE, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    true
}

/// What runs this program again: with the emulator that `cargo xtask test --target` runs it with.
pub fn this_program() -> Command {
    let program = std::env::current_exe().unwrap();
    let runner = std::env::var("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER");
    match runner.ok().filter(|_| cfg!(target_arch = "aarch64")) {
        Some(runner) => {
            let mut words = runner.split_whitespace();
            let mut command = Command::new(words.next().unwrap());
            command.args(words).arg(program);
            command
        }
        None => Command::new(program),
    }
}

/// Every queue that this process has mapped, and how many places of each were taken.
pub struct Queues(Vec<(&'static AtomicU64, u64)>);

impl Queues {
    /// Their state now.
    pub fn now() -> Queues {
        Queues(counters().into_iter().map(|counter| (counter, places(counter))).collect())
    }

    /// Whether exactly `count` places of a queue were taken since [`now`](Self::now).
    pub fn took(&self, count: u64) -> bool {
        self.0.iter().any(|(counter, before)| places(counter) == before + count)
    }

    /// Takes a place in the queue of which exactly `count` were taken since [`now`](Self::now), and
    /// does not fill it.
    pub fn block(&self, count: u64) {
        let moved = |(counter, before): &&(&AtomicU64, u64)| places(counter) == before + count;
        // One queue may be mapped at several places.
        let Some((taken, _)) = self.0.iter().find(moved) else {
            panic!("no queue took {count} messages")
        };
        taken.fetch_add(1, Ordering::AcqRel);
    }
}

/// How many places were taken. UCX keeps a flag in the highest bit.
fn places(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Acquire) & (u64::MAX >> 1)
}

/// The first word of every UCX segment that this process can write to. In a queue, it counts the
/// places taken.
fn counters() -> Vec<&'static AtomicU64> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let is_ucx = |line: &&str| line.contains("ucx_shm_posix") || line.contains("/SYSV");
    maps.lines()
        .filter(|line| is_ucx(line) && line.contains(" rw-s 00000000 "))
        .map(|line| {
            let start = line.split('-').next().unwrap();
            let place = usize::from_str_radix(start, 16).unwrap() as *const AtomicU64;
            // SAFETY: a shared mapping, readable, writable and page-aligned, that is there while
            // the connections of the test are; everybody who uses the word does so atomically.
            unsafe { &*place }
        })
        .collect()
}
