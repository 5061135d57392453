//! Test support: C plugins, private `uromd` processes, and a raw client of the private protocol.

pub(crate) mod client;
pub(crate) mod link;
pub(crate) mod plugins;
pub(crate) mod uromd;
pub(crate) mod way;

use std::time::Duration;

/// Timeout of every step in a test.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

/// Returns whether UCX reaches the loopback device of test services over TCP; 1.20 does not.
pub(crate) fn is_reached_over_tcp() -> bool {
    let running = ucx::version();
    let reached = (running.major, running.minor) != (1, 20);
    if !reached {
        eprintln!("left out: UCX {running} does not reach the loopback device over tcp");
    }
    reached
}
