//! What these tests share: plugins compiled from C, a `uromd` of one's own, and a raw client that
//! speaks the service's private protocol directly.

pub(crate) mod client;
pub(crate) mod link;
pub(crate) mod plugins;
pub(crate) mod uromd;
pub(crate) mod way;

use std::time::Duration;

/// How long anything may take before a test gives up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Whether UCX reaches this machine's loopback device over TCP, on which a service of a test
/// listens. UCX 1.20 does not: a test that takes it is left out there.
pub(crate) fn is_reached_over_tcp() -> bool {
    let running = ucx::version();
    let reached = (running.major, running.minor) != (1, 20);
    if !reached {
        eprintln!("left out: UCX {running} does not reach the loopback device over tcp");
    }
    reached
}
