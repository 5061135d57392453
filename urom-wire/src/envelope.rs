//! Messages over UCX: an [`Envelope`], then [frames](crate::frame) without padding.
//!
//! UCX accepts messages from any sender that reaches its port. Only the two ends of a connection
//! and the daemon have its token, whose part is the [`VerificationTag`]. Another sender must guess
//! 48 bits: tag and channel. `AmFlags::EAGER` keeps messages whole and in order.

use std::fmt;

use crate::frame::{HEADER_LEN, Header};
use crate::key::fill_random;

pub const AM_COMMANDS: u16 = 1;
pub const AM_NOTIFICATIONS: u16 = 2;
/// For an empty message that tests UCX in both directions. Its header is the receiver's channel.
pub const AM_HANDSHAKE: u16 = 3;

pub const MESSAGE_LEN: usize = 8000;

/// Random: an unknown sender must guess it with the verification tag. Constant for fuzzers.
pub fn first_channel() -> u16 {
    let mut bytes = [0; 2];
    if cfg!(not(feature = "fuzzing")) && fill_random(&mut bytes).is_err() {
        // Tokens also need random numbers: without these, hosts cannot connect.
        tracing::debug!("channels begin with 0: the system has run out of random numbers");
    }
    u16::from_le_bytes(bytes)
}

/// A connection's verification tag. The default is for a connection that does not exist yet.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct VerificationTag(u32);

impl VerificationTag {
    #[must_use]
    pub const fn new(token: u128) -> VerificationTag {
        VerificationTag(token as u32)
    }
}

/// Hides the verification tag, which is secret.
impl fmt::Debug for VerificationTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VerificationTag(..)")
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Envelope {
    pub tag: VerificationTag,
    /// The receiver's number of the connection.
    pub channel: u16,
}

impl Envelope {
    /// Its size in bytes, a multiple of 8.
    pub const LEN: usize = 8;

    #[inline]
    #[must_use]
    pub fn to_bytes(self) -> [u8; Envelope::LEN] {
        (u64::from(self.tag.0) | u64::from(self.channel) << 32).to_le_bytes()
    }

    #[inline]
    #[must_use]
    pub fn split(message: &[u8]) -> Option<(Envelope, &[u8])> {
        let (bytes, frames) = message.split_first_chunk()?;
        let word = u64::from_le_bytes(*bytes);
        Some((Envelope { tag: VerificationTag(word as u32), channel: (word >> 32) as u16 }, frames))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a message of {total} bytes breaks off inside the frame at byte {at}")]
pub struct Broken {
    pub at: usize,
    pub total: usize,
}

#[inline]
pub fn frames(message: &[u8]) -> impl Iterator<Item = Result<(Header, &[u8]), Broken>> {
    let total = message.len();
    let mut rest = message;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let frame = rest.split_first_chunk::<HEADER_LEN>().and_then(|(header, behind)| {
            let header = Header::from_word(u64::from_le_bytes(*header));
            let (body, behind) = behind.split_at_checked(header.len())?;
            Some(((header, body), behind))
        });
        match frame {
            Some((frame, behind)) => {
                rest = behind;
                Some(Ok(frame))
            }
            None => {
                let at = total - rest.len();
                rest = &[];
                Some(Err(Broken { at, total }))
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::CommandStart;

    fn message(bodies: &[&[u8]]) -> Vec<u8> {
        let frame = |body: &&[u8]| {
            let header = CommandStart::new(1, 61).header(body.len());
            [&header.word().to_le_bytes(), *body].concat()
        };
        bodies.iter().flat_map(frame).collect()
    }

    #[test]
    fn tokens_give_verification_tags_which_debug_hides() {
        for token in [0, 1, u128::MAX, 1 << 64] {
            assert_eq!(format!("{:?}", VerificationTag::new(token)), "VerificationTag(..)");
        }
        assert_ne!(VerificationTag::new(1), VerificationTag::new(2));
    }

    #[test]
    fn an_envelope_comes_out_as_it_went_in_and_a_short_message_has_none() {
        let envelope = Envelope { tag: VerificationTag::new(0x8765_4321), channel: 65535 };
        let bytes = [&envelope.to_bytes()[..], b"frames"].concat();
        assert_eq!(Envelope::split(&bytes), Some((envelope, &b"frames"[..])));
        assert_eq!(Envelope::split(&bytes[..Envelope::LEN - 1]), None);
    }

    #[test]
    fn frames_that_travel_together_come_out_in_order() {
        let bodies = [&b"first"[..], b"", &[5; 300]];
        let message = message(&bodies);
        let found: Vec<_> = frames(&message).map(|frame| frame.unwrap().1).collect();
        assert_eq!(found, bodies);
    }

    #[test]
    fn every_truncation_is_an_error_or_fewer_whole_frames() {
        let message = message(&[b"first", b"second"]);
        for end in 0..message.len() {
            let found: Vec<_> = frames(&message[..end]).collect();
            let whole = found.iter().filter(|frame| frame.is_ok()).count();
            assert_eq!(whole, usize::from(end >= 13));
            assert_eq!(found.len() - whole, usize::from(end != 0 && end != 13), "{end}");
        }
    }

    #[test]
    fn nothing_follows_an_error() {
        let bytes = [message(&[b"first"]), vec![0xff; 20], message(&[b""])].concat();
        let found: Vec<_> = frames(&bytes).collect();
        assert_eq!(found.len(), 2);
        assert!(found[1].is_err());
    }
}
