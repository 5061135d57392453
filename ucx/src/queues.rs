//! Receive queue sizes in shared memory, which both ends of a connection must share, unchecked by
//! UCX. Sizes in the environment are ignored, as usually all processes share it.

use crate::sealed::sum;
use crate::status::{Result, Status};

/// In this mode UCX assumes that all machines have the same devices, and shortens addresses.
pub(crate) const UNIFIED_MODE: &str = "UNIFIED_MODE";

pub(crate) const WATCHED_QUEUE: [(&str, &str); 3] = [
    // Slots that fit both cores' caches, unlike UCX's 256; with 32, 32 hosts waited for each other.
    ("POSIX_FIFO_SIZE", "64"),
    // Slots of 4 KiB and UCX's headers; a larger message takes a request and other memory.
    ("POSIX_FIFO_ELEM_SIZE", "4224"),
    // The size of memory for a message that does not fit a slot: UCX's default.
    ("POSIX_SEG_SIZE", "8256"),
];

/// The checksum of these settings in call order. Zero without settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct QueueSum(pub(crate) u64);

impl QueueSum {
    pub(crate) fn of(config: &[(String, String)]) -> QueueSum {
        let sizes = config.iter().filter(|(name, _)| must_agree(name));
        let said: Vec<u8> =
            sizes.flat_map(|(name, value)| format!("{name}={value}\0").into_bytes()).collect();
        if said.is_empty() { QueueSum::default() } else { QueueSum(sum(&said, &[])) }
    }

    pub(crate) fn are_known(self) -> bool {
        let watched = WATCHED_QUEUE.map(|(name, value)| (name.into(), value.into()));
        self == QueueSum::default() || self == QueueSum::of(&watched)
    }

    pub(crate) fn require(self, peer: QueueSum, what: impl FnOnce() -> String) -> Result<()> {
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

/// Returns whether a setting must be the same at both ends: a size of any transport (UCX also
/// matches names as patterns), or the mode that changes the layout of addresses. TCP sizes, usually
/// from the environment, are left out, although UCX does not check the receiver's buffer (64 KiB).
fn must_agree(name: &str) -> bool {
    let sizes = ["FIFO_SIZE", "FIFO_ELEM_SIZE", "SEG_SIZE", UNIFIED_MODE];
    let is_size = !name.starts_with("TCP_") && sizes.iter().any(|size| name.ends_with(size));
    name.contains(['*', '?', '[', '\\']) || is_size
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(config: &[(&str, &str)]) -> QueueSum {
        let config: Vec<_> =
            config.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        QueueSum::of(&config)
    }

    #[test]
    fn contexts_without_sizes_are_like_ucx_makes_them() {
        let others = [("TLS", "posix"), ("POSIX_ERROR_HANDLING", "y"), ("TCP_TX_SEG_SIZE", "256K")];
        for config in [&[][..], &others] {
            assert_eq!(of(config), QueueSum::default());
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
