//! Passes: what the messages of a connection bear as their UCX header where the service has a key.
//!
//! UCX takes messages from whoever reaches its port. Control streams ask for the key, and the ticket that they carry is known to
//! the two ends of a connection and to the daemon alone. So messages with a part of it are those of a host, or a worker, that was
//! let in. Without a key everybody is let in, and messages have no header. Nor have those between a program and its embedded
//! service: UCX is slower with one.

use std::fmt;

/// A connection's pass, or that it needs none.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Pass([u8; Pass::LEN]);

impl Pass {
    /// How many bytes the header of a message with a pass has.
    pub const LEN: usize = 8;

    /// Of a connection to a service without a key.
    pub const NONE: Pass = Pass([0; Pass::LEN]);

    /// That of the connection with this ticket.
    #[must_use]
    pub fn of(ticket: u128) -> Pass {
        // What is random is not zero, but for once in a time that nobody lives to see.
        Pass((ticket as u64).max(1).to_le_bytes())
    }

    /// What a message with this header bears; nothing when no message has such a header.
    ///
    /// ```
    /// use urom_service::wire::pass::Pass;
    ///
    /// let pass = Pass::of(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
    /// assert_eq!(Pass::read(pass.as_bytes()), Some(pass));
    /// assert_eq!(Pass::read(Pass::NONE.as_bytes()), Some(Pass::NONE));
    /// assert_eq!(Pass::read(&[1; 7]), None);
    /// assert_eq!(Pass::read(&[0; 8]), None, "there is one way to write none");
    /// ```
    #[inline]
    #[must_use]
    pub fn read(header: &[u8]) -> Option<Pass> {
        if header.is_empty() {
            return Some(Pass::NONE);
        }
        header.try_into().ok().map(Pass).filter(|pass| *pass != Pass::NONE)
    }

    /// The header of a message.
    #[inline]
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        if *self == Pass::NONE { &[] } else { &self.0 }
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
    fn every_ticket_gives_a_pass_and_none_prints_it() {
        for ticket in [0, 1, u128::MAX, 1 << 64] {
            let pass = Pass::of(ticket);
            assert_eq!(pass.as_bytes().len(), Pass::LEN);
            assert_eq!(format!("{pass:?}"), "Pass(..)");
        }
        assert_ne!(Pass::of(1), Pass::of(2));
    }

    #[test]
    fn a_header_of_another_length_is_no_pass() {
        for len in (1..20).filter(|len| *len != Pass::LEN) {
            assert_eq!(Pass::read(&vec![7; len]), None, "{len}");
        }
    }
}
