//! Clocks of the system, as numbers that processes can exchange.

use std::time::Duration;

/// The time of `CLOCK_MONOTONIC`, in nanoseconds. All processes of a machine share this clock.
#[must_use]
pub fn monotonic() -> u64 {
    let now = of(libc::CLOCK_MONOTONIC);
    now.as_secs() * 1_000_000_000 + u64::from(now.subsec_nanos())
}

/// The time of a clock; zero for an unknown one.
///
/// This calls the C library: rustix looks for the kernel's function in a page that valgrind hides.
#[must_use]
pub fn of(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to a structure of this frame only.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}
