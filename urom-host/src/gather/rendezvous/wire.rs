//! What the participants of a rendezvous say to each other. All numbers are little-endian.
//!
//! Each of the others greets participant 0, which answers once when all are there, or when it is clear that they will
//! not be. Then each exchange is one frame to participant 0 and one back.

use urom_abi::DocaError;

/// The longest reason that is sent or believed.
pub(super) const MAX_REASON: usize = 1024;

const GREETING: [u8; 8] = *b"UROMmeet";
const ANSWER: [u8; 8] = *b"UROMmet1";

/// What a participant says first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Greeting {
    pub(super) participants: u32,
    pub(super) index: u32,
}

impl Greeting {
    pub(super) const LEN: usize = 16;

    pub(super) fn to_bytes(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..8].copy_from_slice(&GREETING);
        bytes[8..12].copy_from_slice(&self.participants.to_le_bytes());
        bytes[12..].copy_from_slice(&self.index.to_le_bytes());
        bytes
    }

    /// `None` for a stranger's bytes.
    pub(super) fn from_bytes(bytes: &[u8; Self::LEN]) -> Option<Greeting> {
        let (magic, numbers) = bytes.split_first_chunk()?;
        (*magic == GREETING)
            .then(|| Greeting { participants: number(&numbers[..4]), index: number(&numbers[4..]) })
    }

    /// Whether `bytes` may be the beginning of a greeting.
    pub(super) fn may_begin(bytes: &[u8]) -> bool {
        bytes.iter().zip(&GREETING).all(|(found, wanted)| found == wanted)
    }
}

/// The head of participant 0's answer.
pub(super) struct Answer {
    /// `SUCCESS` when the group is complete.
    pub(super) code: DocaError,
    /// How many bytes of text follow, which say why it is not.
    pub(super) reason: usize,
}

impl Answer {
    pub(super) const LEN: usize = 16;

    /// The whole answer.
    pub(super) fn message(code: DocaError, reason: &str) -> Vec<u8> {
        let reason = shortened(reason);
        [&ANSWER[..], &code.0.to_le_bytes(), &(reason.len() as u32).to_le_bytes(), reason].concat()
    }

    /// `None` for a stranger's bytes.
    pub(super) fn from_bytes(bytes: &[u8; Self::LEN]) -> Option<Answer> {
        let (magic, numbers) = bytes.split_first_chunk()?;
        let (code, reason) = (DocaError(number(&numbers[..4])), number(&numbers[4..]) as usize);
        (*magic == ANSWER && reason <= MAX_REASON).then_some(Answer { code, reason })
    }
}

/// The head of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) kind: Kind,
    /// Which exchange it belongs to, from 0; of [`Kind::Failed`], the DOCA code.
    pub(super) word: u32,
    /// How many bytes follow.
    pub(super) length: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// One participant's block.
    Block,
    /// All blocks.
    Table,
    /// No more exchanges, and why.
    Failed,
}

impl Head {
    pub(super) const LEN: usize = 16;

    pub(super) fn to_bytes(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        let kind: u32 = match self.kind {
            Kind::Block => 1,
            Kind::Table => 2,
            Kind::Failed => 3,
        };
        bytes[..4].copy_from_slice(&kind.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.word.to_le_bytes());
        bytes[8..].copy_from_slice(&self.length.to_le_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8; Self::LEN]) -> Option<Head> {
        let kind = match number(&bytes[..4]) {
            1 => Kind::Block,
            2 => Kind::Table,
            3 => Kind::Failed,
            _ => return None,
        };
        let length = u64::from(number(&bytes[12..])) << 32 | u64::from(number(&bytes[8..12]));
        Some(Head { kind, word: number(&bytes[4..8]), length })
    }

    /// A whole frame that says why there will be no more exchanges.
    pub(super) fn failed(code: DocaError, reason: &str) -> Vec<u8> {
        let reason = shortened(reason);
        let head = Head { kind: Kind::Failed, word: code.0, length: reason.len() as u64 };
        [&head.to_bytes()[..], reason].concat()
    }
}

/// At most [`MAX_REASON`] bytes of a text.
fn shortened(reason: &str) -> &[u8] {
    &reason.as_bytes()[..reason.len().min(MAX_REASON)]
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greetings_and_heads_survive_the_wire() {
        let greeting = Greeting { participants: 0x0102_0304, index: u32::MAX };
        assert_eq!(Greeting::from_bytes(&greeting.to_bytes()), Some(greeting));
        for kind in [Kind::Block, Kind::Table, Kind::Failed] {
            let head = Head { kind, word: 7, length: 0x0102_0304_0506_0708 };
            assert_eq!(Head::from_bytes(&head.to_bytes()), Some(head));
        }
    }

    #[test]
    fn one_wrong_byte_of_the_magic_is_a_stranger() {
        let good = Greeting { participants: 2, index: 1 }.to_bytes();
        for at in 0..8 {
            let mut bytes = good;
            bytes[at] ^= 1;
            assert_eq!(Greeting::from_bytes(&bytes), None);
            assert!(!Greeting::may_begin(&bytes[..=at]));
            assert!(Greeting::may_begin(&good[..=at]));
        }
    }

    #[test]
    fn unknown_kinds_and_endless_reasons_are_refused() {
        assert_eq!(Head::from_bytes(&[0; Head::LEN]), None);
        assert_eq!(Head::from_bytes(&[9; Head::LEN]), None);
        let mut answer = [0; Answer::LEN];
        answer.copy_from_slice(&Answer::message(DocaError::SUCCESS, "")[..]);
        assert!(Answer::from_bytes(&answer).is_some_and(|answer| answer.reason == 0));
        answer[12..].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(Answer::from_bytes(&answer).is_none());
        let long = Answer::message(DocaError::AGAIN, &"x".repeat(5000));
        assert_eq!(long.len(), Answer::LEN + MAX_REASON);
    }
}
