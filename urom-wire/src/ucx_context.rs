//! How UCX is set up at both ends of a connection.

use ucx::{Context, ContextBuilder, Features};

/// What a peer is told whose messages wait behind a place that nobody fills: see
/// [`ucx::queue_probe`].
pub const BLOCKED: &str = "nothing can be received any more: a process on the same machine was killed or stopped while it \
    sent, which blocks UCX's receive queue for all others; start the worker again";

/// Settings of a context, over the environment's.
pub type Config = &'static [(&'static str, &'static str)];

/// A UCX context for frames. Its endpoints have UCX's handling of lost peers
/// ([`ErrorMode::Peer`](ucx::ErrorMode), the default), and may use `posix` shared memory, but not
/// `sysv`, whatever the environment says.
///
/// Without that handling UCX never closes an endpoint to a peer that has one back: each host would
/// stay in the memory of a worker for good, with some MiB of the host's that UCX has attached. UCX
/// need not look for lost peers itself: the control stream notices them.
pub fn context() -> ContextBuilder {
    Context::builder(Features::AM | Features::WAKEUP)
        .watched_shared_memory()
        .config("SYSV_ERROR_HANDLING", "n")
        .config("KEEPALIVE_INTERVAL", "inf")
}
