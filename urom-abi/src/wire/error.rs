//! Errors of decoding and encoding messages.

use crate::Quantity;
use crate::describe::{Misfit, listed};
use crate::error::DocaError;

/// Error of decoding a command or a notification. Converts to `DOCA_ERROR_INVALID_VALUE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{message}: {field}{}: {problem}", problem.path())]
pub struct DecodeError {
    /// The variant, or the enum if the tag is not known.
    pub message: &'static str,
    /// The invalid field: `tag`, `length`, or a field of the message.
    pub field: &'static str,
    /// The problem.
    pub problem: DecodeProblem,
}

/// A problem with a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeProblem {
    /// The bytes end within the fixed part.
    #[error("{}, but the fixed part alone takes {least}", Quantity(*found, "byte"))]
    TooShort {
        /// Number of bytes.
        found: usize,
        /// Size of the fixed part.
        least: usize,
    },
    /// The length does not match the message's fields.
    #[error("{}, but its fields call for exactly {expected}", Quantity(*found, "byte"))]
    Length {
        /// Number of bytes.
        found: usize,
        /// Expected number of bytes.
        expected: usize,
    },
    /// The tag is unknown.
    #[error("{found} is not among {}", listed(known.iter().copied()))]
    UnknownTag {
        /// The tag.
        found: u64,
        /// All variants and their tags.
        known: &'static [(&'static str, u64)],
    },
    /// The message is not the answer to this command.
    #[error("{found}, but this message has {expected}")]
    OtherTag {
        /// The tag.
        found: u64,
        /// The expected tag.
        expected: u64,
    },
    /// An echoed field differs from the command's field.
    #[error("does not repeat the value the command carried")]
    NotEchoed,
    /// A length or a count is out of range.
    #[error("{found}, but at most {most} is possible")]
    OutOfRange {
        /// The value.
        found: u64,
        /// The maximum.
        most: u64,
    },
    /// A length or a count is negative, missing, or too large for a payload.
    #[error("the fields before it give no length that a payload can have")]
    NoLength,
    /// The bytes are not a value of the field's type, such as a `bool` of 7.
    #[error("{0}")]
    NoValue(Misfit),
    /// A text payload is not UTF-8.
    #[error("no UTF-8: its byte {at} is {found:#04x}, which cannot stand there")]
    NotUtf8 {
        /// Offset of the first invalid byte.
        at: usize,
        /// The invalid byte.
        found: u8,
    },
    /// The field's codec rejected the bytes.
    #[error("{0}")]
    Invalid(&'static str),
}

impl DecodeProblem {
    fn path(&self) -> String {
        if let DecodeProblem::NoValue(misfit) = self { misfit.path() } else { String::new() }
    }
}

impl From<DecodeError> for DocaError {
    fn from(_: DecodeError) -> DocaError {
        DocaError::INVALID_VALUE
    }
}

/// Error of encoding a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The message exceeds the buffer.
    #[error("{message}: takes {need} bytes, but {capacity} fit")]
    TooBig {
        /// The variant.
        message: &'static str,
        /// The message's length; `usize::MAX` on overflow.
        need: usize,
        /// The buffer's size.
        capacity: usize,
    },
    /// A payload contradicts the fields that describe it.
    #[error("{message}: {field}: {what}")]
    Mismatch {
        /// The variant.
        message: &'static str,
        /// The payload.
        field: &'static str,
        /// The disagreement.
        what: &'static str,
    },
    /// The C heap is exhausted.
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
        assert_eq!(unknown.to_string(), "Command: tag: 9 is not among 0 (MemMap), 1 (TagSend)");
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
