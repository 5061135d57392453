//! How UCX is set up at both ends of a connection.

use ucx::{Context, ContextBuilder, Features};

/// A UCX context for frames, whose endpoints are made with UCX's handling of lost peers
/// ([`ErrorMode::Peer`](ucx::ErrorMode), the default), and may take shared memory: `posix`, and not
/// `sysv`, whatever the environment says.
///
/// Without that handling UCX never closes an endpoint to a peer that has one back: each host that
/// ever came would stay in the memory of a worker that goes on, with some MiB of its own that UCX
/// has attached. UCX need not look for peers itself. The control stream notices one that is gone.
pub fn context() -> ContextBuilder {
    Context::builder(Features::AM | Features::WAKEUP)
        .watched_shared_memory()
        .config("SYSV_ERROR_HANDLING", "n")
        .config("KEEPALIVE_INTERVAL", "inf")
}
