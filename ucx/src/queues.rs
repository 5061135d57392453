//! The settings that both ends of a connection must share: sizes of receive queues in shared
//! memory.
//!
//! A sender writes into its peer's queue by its own sizes, and UCX checks nothing. Sizes in the
//! environment do not count: it is usually the same for all processes.

use crate::sealed::sum;
use crate::status::{Result, Status};

/// The mode in which UCX assumes that all machines have the same devices, and shortens addresses.
pub(crate) const UNIFIED_MODE: &str = "UNIFIED_MODE";

/// The sizes of a context for watched shared memory, as
/// [`ContextBuilder::WATCHED_QUEUE`](crate::ContextBuilder::WATCHED_QUEUE) documents them.
pub(crate) const WATCHED_QUEUE: [(&str, &str); 3] = [
    // How many places a queue has. So few stay in the caches of both cores; UCX's 256 do not.
    // With 32, as many hosts at one worker waited for each other.
    ("POSIX_FIFO_SIZE", "64"),
    // The bytes of a place: 4 KiB and UCX's headers, so that UCX writes messages of up to 4 KiB
    // straight into it. A message that does not fit takes a request and other memory.
    ("POSIX_FIFO_ELEM_SIZE", "4224"),
    // The bytes of memory for a message that does not fit its place: UCX's own choice.
    ("POSIX_SEG_SIZE", "8256"),
];

/// The checksum of these settings, in the order in which they were made. Zero if there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Queues(pub(crate) u64);

impl Queues {
    /// Those of a context with these settings.
    pub(crate) fn of(config: &[(String, String)]) -> Queues {
        let sizes = config.iter().filter(|(name, _)| must_agree(name));
        let said: Vec<u8> =
            sizes.flat_map(|(name, value)| format!("{name}={value}\0").into_bytes()).collect();
        if said.is_empty() { Queues::default() } else { Queues(sum(&said, &[])) }
    }

    /// Whether they are UCX's own or those of a context for watched shared memory: it is known that
    /// nothing but the sizes differs.
    pub(crate) fn are_known(self) -> bool {
        let watched = WATCHED_QUEUE.map(|(name, value)| (name.into(), value.into()));
        self == Queues::default() || self == Queues::of(&watched)
    }

    /// An error unless the peer's are like this.
    pub(crate) fn require(self, peer: Queues, what: impl FnOnce() -> String) -> Result<()> {
        if self == peer {
            return Ok(());
        }
        let what = what();
        Err(Status::UNREACHABLE.during(format!(
            "{what}: its receive queues in shared memory have other sizes than this worker's, or \
             only one of the two has UCX_UNIFIED_MODE; make both contexts with \
             watched_shared_memory or both without, by one release of the crate, and with the same \
             sizes"
        ))
        .with_variables())
    }
}

/// Whether a setting must be the same at both ends: a size of any transport, whose name UCX also
/// takes as a pattern, or the mode that changes the layout of addresses. Sizes over TCP are left
/// out, as most programs get them from the environment: a sender's pieces must fit the receiver's
/// room, 64 KiB unless it is set, and UCX does not check that.
fn must_agree(name: &str) -> bool {
    let sizes = ["FIFO_SIZE", "FIFO_ELEM_SIZE", "SEG_SIZE", UNIFIED_MODE];
    let is_size = !name.starts_with("TCP_") && sizes.iter().any(|size| name.ends_with(size));
    name.contains(['*', '?', '[', '\\']) || is_size
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(config: &[(&str, &str)]) -> Queues {
        let config: Vec<_> =
            config.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        Queues::of(&config)
    }

    #[test]
    fn contexts_without_sizes_are_like_ucx_makes_them() {
        let others = [("TLS", "posix"), ("POSIX_ERROR_HANDLING", "y"), ("TCP_TX_SEG_SIZE", "256K")];
        for config in [&[][..], &others] {
            assert_eq!(of(config), Queues::default());
        }
    }

    #[test]
    fn contexts_of_other_sizes_differ() {
        let all = [
            &[][..],
            &[("POSIX_FIFO_SIZE", "64")],
            &[("POSIX_FIFO_SIZE", "128")],
            &[("MM_FIFO_SIZE", "64")],
            &[("POSIX_FIFO_ELEM_SIZE", "64")],
            &[("SYSV_SEG_SIZE", "64")],
            &[("POSIX_FIFO_S*", "64")],
            &[("P?SIX_FIFO_SIZ[E]", "64")],
            &[("POSIX_FIFO_SIZE", "64"), ("POSIX_FIFO_SIZE", "128")],
            &[("POSIX_FIFO_SIZE", "128"), ("POSIX_FIFO_SIZE", "64")],
            &[(UNIFIED_MODE, "y")],
        ];
        for (at, config) in all.iter().enumerate() {
            assert_eq!(of(config), of(&[config, &[("TLS", "posix")][..]].concat()));
            for other in &all[..at] {
                assert_ne!(of(config), of(other), "{config:?} {other:?}");
            }
        }
    }
}
