//! How UCX is set up at both ends of a connection.

use ucx::{Context, ContextBuilder, Features};

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
