//! What the receive queues of a context are like in shared memory, as far as the program says: two
//! whose programs do not say the same do not connect.
//!
//! A sender writes into its peer's queue by its own idea of its sizes, and UCX checks nothing. What
//! the environment says is not looked at: it is not code, and often the same for all processes.

use crate::status::{Result, Status};
use crate::sum::sum;

/// The sum of the settings that may be about it, in the order in which they were made. Zero if
/// there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Queues(pub(crate) u64);

impl Queues {
    /// Those of a context with these settings.
    pub(crate) fn of(config: &[(String, String)]) -> Queues {
        let sizes = config.iter().filter(|(name, _)| may_be_size(name));
        let said: Vec<u8> =
            sizes.flat_map(|(name, value)| format!("{name}={value}\0").into_bytes()).collect();
        if said.is_empty() { Queues::default() } else { Queues(sum(&said, &[])) }
    }

    /// An error unless the peer's are like this.
    pub(crate) fn require(self, peer: Queues, what: impl FnOnce() -> String) -> Result<()> {
        if self == peer {
            return Ok(());
        }
        let what = what();
        Err(Status::UNREACHABLE.during(format!(
            "{what}: its receive queues in shared memory have other sizes than this worker's; make both contexts \
             with watched_shared_memory or both without, by one release of the crate, and with the same sizes"
        )))
    }
}

/// Whether a setting is one of the sizes that both ends must have the same idea of, of whichever
/// transport: UCX takes patterns for names, too.
fn may_be_size(name: &str) -> bool {
    let sizes = ["FIFO_SIZE", "FIFO_ELEM_SIZE", "SEG_SIZE"];
    name.contains(['*', '?', '[', '\\']) || sizes.iter().any(|size| name.ends_with(size))
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
        let others =
            [("TLS", "posix"), ("POSIX_ERROR_HANDLING", "y"), ("POSIX_FIFO_MAX_POLL", "1")];
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
        ];
        for (at, config) in all.iter().enumerate() {
            assert_eq!(of(config), of(&[config, &[("TLS", "posix")][..]].concat()));
            for other in &all[..at] {
                assert_ne!(of(config), of(other), "{config:?} {other:?}");
            }
        }
    }
}
