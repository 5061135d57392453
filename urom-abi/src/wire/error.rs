//! Why bytes are no message, and why a message does not fit its bytes.

use crate::Quantity;
use crate::describe::{Misfit, listed};
use crate::error::DocaError;

/// Why bytes could not be read as a command or a notification.
///
/// It names the message (`TagSend`) and the field, says what was found and what is allowed, and
/// converts to `DOCA_ERROR_INVALID_VALUE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{message}: {field}{}: {problem}", problem.path())]
pub struct DecodeError {
    /// The variant that was being read, or the enum when the tag was not yet known.
    pub message: &'static str,
    /// The field that was wrong: `tag`, `length`, or a field of the message.
    pub field: &'static str,
    /// What was wrong with it.
    pub problem: DecodeProblem,
}

/// What was wrong with a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeProblem {
    /// The bytes end before the fixed part does.
    #[error("{}, but the fixed part alone takes {least}", Quantity(*found, "byte"))]
    TooShort {
        /// How many bytes there are.
        found: usize,
        /// How many the fixed part takes.
        least: usize,
    },
    /// The number of bytes is not what the message's own fields call for.
    #[error("{}, but its fields call for exactly {expected}", Quantity(*found, "byte"))]
    Length {
        /// How many bytes there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// The tag belongs to no variant.
    #[error("{found} is none of {}", listed(known.iter().copied()))]
    UnknownTag {
        /// The tag found.
        found: u64,
        /// Each variant and its tag.
        known: &'static [(&'static str, u64)],
    },
    /// Another variant than the one that answers this command.
    #[error("{found}, but this message has {expected}")]
    OtherTag {
        /// The tag found.
        found: u64,
        /// The tag of the variant that was asked for.
        expected: u64,
    },
    /// An echoed field does not repeat what the command said.
    #[error("does not repeat the value the command carried")]
    NotEchoed,
    /// A length or a count that no message can have.
    #[error("{found}, but at most {most} is possible")]
    OutOfRange {
        /// The value found.
        found: u64,
        /// The largest value allowed.
        most: u64,
    },
    /// A length or a count that is negative, absent, or more than a payload can have.
    #[error("the fields before it give no length that a payload can have")]
    NoLength,
    /// Bytes that are no value of the field's type, such as a `bool` of 7.
    #[error("{0}")]
    NoValue(Misfit),
    /// A payload that is text and not UTF-8.
    #[error("no UTF-8: its byte {at} is {found:#04x}, which cannot stand there")]
    NotUtf8 {
        /// The first byte that does not belong there.
        at: usize,
        /// What it is.
        found: u8,
    },
    /// A field's own codec refused its bytes.
    #[error("{0}")]
    Invalid(&'static str),
}

impl DecodeProblem {
    /// The way from the field to what is wrong in it.
    fn path(&self) -> String {
        if let DecodeProblem::NoValue(misfit) = self { misfit.path() } else { String::new() }
    }
}

impl From<DecodeError> for DocaError {
    fn from(_: DecodeError) -> DocaError {
        DocaError::INVALID_VALUE
    }
}

/// Why a message could not be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The message takes more bytes than there is room for.
    #[error("{message}: takes {need} bytes, but {room} fit")]
    TooBig {
        /// The variant.
        message: &'static str,
        /// How many bytes it takes; `usize::MAX` stands for more than can be counted.
        need: usize,
        /// How many there are.
        room: usize,
    },
    /// A payload contradicts the fields that describe it.
    #[error("{message}: {field}: {what}")]
    Mismatch {
        /// The variant.
        message: &'static str,
        /// The payload.
        field: &'static str,
        /// What does not agree.
        what: &'static str,
    },
    /// The C heap has no room for a descriptor.
    #[error("{message}: no memory for its descriptor")]
    NoMemory {
        /// The variant.
        message: &'static str,
    },
}

impl From<EncodeError> for DocaError {
    fn from(error: EncodeError) -> DocaError {
        match error {
            EncodeError::TooBig { .. } => DocaError::TOO_BIG,
            EncodeError::Mismatch { .. } => DocaError::INVALID_VALUE,
            EncodeError::NoMemory { .. } => DocaError::NO_MEMORY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_field_finding_and_what_is_allowed() {
        let unknown = DecodeError {
            message: "Command",
            field: "tag",
            problem: DecodeProblem::UnknownTag {
                found: 9,
                known: &[("MemMap", 0), ("TagSend", 1)],
            },
        };
        assert_eq!(unknown.to_string(), "Command: tag: 9 is none of 0 (MemMap), 1 (TagSend)");
        let short = DecodeError {
            message: "Loopback",
            field: "length",
            problem: DecodeProblem::TooShort { found: 3, least: 16 },
        };
        assert_eq!(
            short.to_string(),
            "Loopback: length: 3 bytes, but the fixed part alone takes 16"
        );
        assert_eq!(DocaError::from(short), DocaError::INVALID_VALUE);
        let mismatch =
            EncodeError::Mismatch { message: "Send", field: "data", what: "is too long" };
        assert_eq!(mismatch.to_string(), "Send: data: is too long");
        assert_eq!(DocaError::from(mismatch), DocaError::INVALID_VALUE);
    }
}
