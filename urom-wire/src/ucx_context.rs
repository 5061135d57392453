//! UCX settings for both ends of a connection.

use ucx::{Context, ContextBuilder, Features};

/// Settings of a context; they override the environment's.
pub type Config = &'static [(&'static str, &'static str)];

const SHARED_MEMORY: [&str; 6] = ["posix", "sysv", "xpmem", "mm", "sm", "shm"];

/// Whether `UCX_TLS` is unset, or allows a shared-memory transport.
#[must_use]
pub fn may_share_memory() -> bool {
    std::env::var("UCX_TLS").map_or(true, |transports| allows_shared_memory(&transports))
}

fn allows_shared_memory(transports: &str) -> bool {
    let (transports, is_allowed) = match transports.strip_prefix('^') {
        Some(excluded) => (excluded, false),
        None => (transports, true),
    };
    let names = |name: &str| name == "all" || SHARED_MEMORY.contains(&name);
    transports.split(',').any(names) == is_allowed
}

fn network_only(transports: Option<&str>) -> String {
    let excluded = SHARED_MEMORY[..3].join(",");
    match transports {
        None | Some("all") => format!("^{excluded}"),
        Some(all) if all.starts_with('^') => format!("{all},{excluded}"),
        Some(some) => {
            let rest: Vec<_> =
                some.split(',').filter(|name| !SHARED_MEMORY.contains(name)).collect();
            // Shared memory implied the network: without it UCX's endpoint would reach no process.
            let was_shared = some.split(',').count() > rest.len();
            let network = (was_shared && rest.iter().all(|name| *name == "self")).then_some("tcp");
            network.into_iter().chain(rest).collect::<Vec<_>>().join(",")
        }
    }
}

/// A UCX context for frames. Its endpoints detect lost peers ([`ErrorMode::Peer`](ucx::ErrorMode),
/// the default) and use no shared memory: there UCX has one receive queue for all peers, and a peer
/// killed during a write blocks it. Peers on one machine use a [`ring`](crate::ring).
///
/// Without the detection, UCX never closes an endpoint whose peer has one back: a worker would keep
/// each host's endpoint and some MiB of attached memory. The control stream detects lost peers.
pub fn context() -> ContextBuilder {
    let transports = std::env::var("UCX_TLS").ok();
    Context::builder(Features::AM | Features::WAKEUP)
        .config("TLS", network_only(transports.as_deref()))
        .config("KEEPALIVE_INTERVAL", "inf")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_is_used_where_the_environment_allows_it_and_never_by_ucx() {
        for (transports, allowed, network) in [
            ("all", true, "^posix,sysv,xpmem"),
            ("tcp", false, "tcp"),
            ("tcp,posix", true, "tcp"),
            ("sm,self", true, "tcp,self"),
            ("self", false, "self"),
            ("shm", true, "tcp"),
            ("^posix", false, "^posix,posix,sysv,xpmem"),
            ("^tcp", true, "^tcp,posix,sysv,xpmem"),
        ] {
            let found = (allows_shared_memory(transports), network_only(Some(transports)));
            assert_eq!(found, (allowed, network.to_owned()), "{transports}");
        }
        assert_eq!(network_only(None), "^posix,sysv,xpmem");
    }
}
