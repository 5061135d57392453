//! Passes: the first bytes of each message with commands or answers.
//!
//! UCX takes messages from whoever reaches its port, and delivers those of a connection that has
//! ended. The ticket that control streams carry is known to the two ends of one connection and to
//! the daemon alone. So messages that begin with a part of it are those of this connection, as far
//! as 48 random bits say: 32 of the pass, and a channel's number.
//!
//! A pass is no UCX header and no longer than this, so that the smallest commands and answers still
//! fit the first cache line of a message over shared memory: with four more bytes a round trip
//! takes nearly twice as long.

use std::fmt;

use crate::key::fill_random;

/// Where the numbers of a process's channels begin: besides the pass, a stranger has to guess one
/// of these, too. The same each time for fuzzers.
pub fn first_channel() -> u16 {
    let mut bytes = [0; 2];
    if cfg!(not(feature = "fuzzing")) && fill_random(&mut bytes).is_err() {
        // Which takes a system without random numbers, on which there are no tickets either.
        tracing::debug!("channels begin with 0: there are no random numbers");
    }
    u16::from_le_bytes(bytes)
}

/// A connection's pass. The default is that of a connection which is not there yet.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Pass([u8; Pass::LEN]);

impl Pass {
    /// How many bytes a pass has.
    pub const LEN: usize = 4;

    /// That of the connection with this ticket.
    #[must_use]
    pub fn new(ticket: u128) -> Pass {
        Pass((ticket as u32).to_le_bytes())
    }

    /// What a message begins with, and its frames; nothing when it is too short.
    ///
    /// ```
    /// use urom_wire::pass::Pass;
    ///
    /// let pass = Pass::new(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
    /// let message = [&pass.as_bytes()[..], b"frames"].concat();
    /// assert_eq!(Pass::split(&message), Some((pass, &b"frames"[..])));
    /// assert_eq!(Pass::split(&message[..3]), None);
    /// ```
    #[inline]
    #[must_use]
    pub fn split(message: &[u8]) -> Option<(Pass, &[u8])> {
        let (pass, frames) = message.split_first_chunk()?;
        Some((Pass(*pass), frames))
    }

    /// What a message begins with.
    #[inline]
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; Pass::LEN] {
        &self.0
    }
}

/// Says no more than that it is one: it is nobody else's business which.
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
