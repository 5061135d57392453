//! Test helper: takes a slot of a receive queue and never fills it, as a process killed in a send.

use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

const ALONE: &str = "UROM_TEST_QUEUE_ALONE";

/// Runs the test `name` alone in its own process and returns true; returns false in that process.
/// [`Queues`] identifies a queue by its counter, and queues of other tests would interfere.
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

/// Returns a command that runs this program again, in the emulator of `cargo xtask test` if any.
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

/// Every queue that this process has mapped, with the number of slots taken.
pub struct Queues(Vec<(&'static AtomicU64, u64)>);

impl Queues {
    /// Reads the current state of all queues.
    pub fn now() -> Queues {
        Queues(counters().into_iter().map(|counter| (counter, slots_taken(counter))).collect())
    }

    /// Returns whether a queue has had exactly `count` slots taken since [`now`](Self::now).
    pub fn took(&self, count: u64) -> bool {
        self.0.iter().any(|(counter, before)| slots_taken(counter) == before + count)
    }

    /// Takes an unfilled slot in the queue with `count` slots taken since [`now`](Self::now).
    pub fn block(&self, count: u64) {
        let moved = |(counter, before): &&(&AtomicU64, u64)| slots_taken(counter) == before + count;
        let Some((taken, _)) = self.0.iter().find(moved) else {
            panic!("no queue took {count} messages")
        };
        taken.fetch_add(1, Ordering::AcqRel);
    }
}

fn slots_taken(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Acquire) & (u64::MAX >> 1)
}

/// Returns the first word of every writable UCX segment: in a queue, the number of slots taken.
fn counters() -> Vec<&'static AtomicU64> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let is_ucx = |line: &&str| line.contains("ucx_shm_posix") || line.contains("/SYSV");
    maps.lines()
        .filter(|line| is_ucx(line) && line.contains(" rw-s 00000000 "))
        .map(|line| {
            let start = line.split('-').next().unwrap();
            let address = usize::from_str_radix(start, 16).unwrap() as *const AtomicU64;
            // SAFETY: a writable, aligned mapping that outlives the use; all access is atomic.
            unsafe { &*address }
        })
        .collect()
}
