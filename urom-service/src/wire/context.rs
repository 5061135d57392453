//! How UCX is set up at both ends of a connection.

use ucx::{Context, ContextBuilder, Features};

/// How many messages of the peers a receive queue in shared memory holds; the next waits at its sender. Each place is 8 KiB of memory,
/// and messages go through all of them in turn. So few stay in the caches of both cores, where UCX's 256 would take as much as such
/// a cache has; and as frames that are ready together share a message, few are needed. With 32, as many hosts as that at one worker
/// waited for each other.
const PLACES: &str = "64";

/// The variables by which a user chooses the number of places.
const PLACES_CHOSEN: [&str; 2] = ["UCX_POSIX_FIFO_SIZE", "UCX_MM_FIFO_SIZE"];

/// A UCX context for frames, whose endpoints are made with UCX's handling of lost peers ([`ErrorMode::Peer`](ucx::ErrorMode), the
/// default), and may take shared memory: `posix`, and not `sysv`, whatever the environment says.
///
/// Without that handling UCX never closes an endpoint to a peer that has one back: each host that ever came would stay in the memory
/// of a worker that goes on, with some MiB of its own that UCX has attached. UCX need not look for peers itself. The control
/// stream notices one that is gone.
pub fn context() -> ContextBuilder {
    with_places(PLACES_CHOSEN.iter().all(|name| std::env::var_os(name).is_none()))
}

/// The same; `ours` says whether the number of places is.
fn with_places(ours: bool) -> ContextBuilder {
    let context = Context::builder(Features::AM | Features::WAKEUP)
        .watched_shared_memory()
        .config("SYSV_ERROR_HANDLING", "n")
        .config("KEEPALIVE_INTERVAL", "inf");
    if ours { context.config("POSIX_FIFO_SIZE", PLACES) } else { context }
}

#[cfg(test)]
mod tests {
    use ucx::AmFlags;

    use super::*;

    #[test]
    fn a_receive_queue_has_few_places() {
        let worker =
            || with_places(true).config("TLS", "posix").build().and_then(|context| context.worker()).unwrap();
        let (receiver, sender) = (worker(), worker());
        let endpoint = sender.endpoint().connect(&receiver.address().unwrap()).unwrap();
        let send = || endpoint.am_send_with(1, &[1; 8], (), AmFlags::EAGER);
        let first = send();
        while !first.is_done() {
            sender.progress();
            receiver.progress();
        }
        let sent: Vec<_> = std::iter::repeat_with(send).take(1000).collect();
        let taken = sent.iter().filter(|request| request.is_done()).count();
        assert!((32..=64).contains(&taken), "{taken}");
        sent.into_iter().for_each(ucx::Request::detach);
    }
}
