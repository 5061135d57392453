//! Passes: the first bytes of each message with commands or notifications.
//!
//! UCX accepts messages from anyone who reaches its port. The two ends of a connection and the
//! daemon alone know its ticket, so a message that begins with a part of it belongs to the
//! connection. A stranger has to guess 48 bits: the pass and a channel's number. A pass has only
//! four bytes, so that the smallest frames still fit the first cache line of a message over shared
//! memory.

use std::fmt;

use crate::key::fill_random;

/// Where the numbers of a process's channels begin: random, because a stranger has to guess one
/// besides the pass. Constant for fuzzers.
pub fn first_channel() -> u16 {
    let mut bytes = [0; 2];
    if cfg!(not(feature = "fuzzing")) && fill_random(&mut bytes).is_err() {
        // Only on a system without random numbers, which has no tickets either.
        tracing::debug!("channels begin with 0: there are no random numbers");
    }
    u16::from_le_bytes(bytes)
}

/// A connection's pass. The default is that of a connection that does not exist yet.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Pass([u8; Pass::LEN]);

impl Pass {
    pub const LEN: usize = 4;

    #[must_use]
    pub fn new(ticket: u128) -> Pass {
        Pass((ticket as u32).to_le_bytes())
    }

    /// A message's pass and its frames. `None` when it is too short.
    #[inline]
    #[must_use]
    pub fn split(message: &[u8]) -> Option<(Pass, &[u8])> {
        let (pass, frames) = message.split_first_chunk()?;
        Some((Pass(*pass), frames))
    }

    #[inline]
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; Pass::LEN] {
        &self.0
    }
}

/// Does not show the pass, which is secret.
impl fmt::Debug for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pass(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_give_passes_and_nothing_prints_them() {
        for ticket in [0, 1, u128::MAX, 1 << 64] {
            assert_eq!(format!("{:?}", Pass::new(ticket)), "Pass(..)");
        }
        assert_ne!(Pass::new(1), Pass::new(2));
    }
}
