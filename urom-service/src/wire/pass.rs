//! Passes: the first bytes of a connection's messages where the service has a key.
//!
//! UCX takes messages from whoever reaches its port. Control streams ask for the key, and the ticket that they carry is known to
//! the two ends of a connection and to the daemon alone. So messages that begin with a part of it are those of a host, or a worker,
//! that was let in, as far as 48 random bits say: 32 of the pass, and a channel's number. They have ids of their own. Without a key
//! everybody is let in, and messages begin with their first frame.
//!
//! A pass is no UCX header and no longer than this, so that the smallest commands and answers still fit the first cache line of a
//! message over shared memory: with four more bytes a round trip takes nearly twice as long.

use std::fmt;

use crate::key::fill_random;

use super::frame::{AM_COMMANDS, AM_COMMANDS_WITH_PASS, AM_NOTIFICATIONS, AM_NOTIFICATIONS_WITH_PASS};

/// Where the numbers of a process's channels begin: besides the pass, a stranger has to guess one of these, too. The same each time
/// for fuzzers.
pub(crate) fn first_channel() -> u16 {
    let mut bytes = [0; 2];
    if cfg!(not(feature = "fuzzing")) && fill_random(&mut bytes).is_err() {
        // Which takes a system without random numbers, on which no key was proven either.
        tracing::debug!("channels begin with 0: there are no random numbers");
    }
    u16::from_le_bytes(bytes)
}

/// A connection's pass, or that it has none.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Pass([u8; Pass::LEN]);

impl Pass {
    /// How many bytes a pass has.
    pub const LEN: usize = 4;

    /// Of a connection to a service without a key.
    pub const NONE: Pass = Pass([0; Pass::LEN]);

    /// That of a connection by its ticket, where the service has a key.
    #[must_use]
    pub fn new(has_key: bool, ticket: u128) -> Pass {
        if !has_key {
            return Pass::NONE;
        }
        // Zero is none. A ticket is random, so nobody has one like that.
        Pass((ticket as u32).max(1).to_le_bytes())
    }

    /// What a message of an id with passes begins with, and its frames; nothing when it is too short, or begins with what is no pass.
    ///
    /// ```
    /// use urom_service::wire::pass::Pass;
    ///
    /// let pass = Pass::new(true, 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
    /// let message = [pass.as_bytes(), b"frames"].concat();
    /// assert_eq!(Pass::split(&message), Some((pass, &b"frames"[..])));
    /// assert_eq!(Pass::split(&message[..3]), None);
    /// assert_eq!(Pass::split(&[0; 20]), None);
    /// ```
    #[inline]
    #[must_use]
    pub fn split(message: &[u8]) -> Option<(Pass, &[u8])> {
        let (pass, frames) = message.split_first_chunk()?;
        let pass = Pass(*pass);
        (pass != Pass::NONE).then_some((pass, frames))
    }

    /// What a message begins with.
    #[inline]
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        if *self == Pass::NONE { &[] } else { &self.0 }
    }

    /// The active-message id of commands that begin with this.
    #[inline]
    #[must_use]
    pub fn commands(self) -> u16 {
        if self == Pass::NONE { AM_COMMANDS } else { AM_COMMANDS_WITH_PASS }
    }

    /// The active-message id of notifications that begin with this.
    #[inline]
    #[must_use]
    pub fn notifications(self) -> u16 {
        if self == Pass::NONE { AM_NOTIFICATIONS } else { AM_NOTIFICATIONS_WITH_PASS }
    }
}

/// Says whether there is one: it is nobody else's business what it is.
impl fmt::Debug for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Pass::NONE { "Pass(none)" } else { "Pass(..)" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ticket_gives_a_pass_where_there_is_a_key_and_none_prints_it() {
        for ticket in [0, 1, u128::MAX, 1 << 64] {
            let pass = Pass::new(true, ticket);
            assert_eq!(pass.as_bytes().len(), Pass::LEN);
            assert_eq!(format!("{pass:?}"), "Pass(..)");
            assert_eq!(Pass::new(false, ticket), Pass::NONE);
        }
        assert_ne!(Pass::new(true, 1), Pass::new(true, 2));
    }
}
