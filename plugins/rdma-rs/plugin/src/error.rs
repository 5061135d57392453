//! The errors of operations, on their way between the two ends.

use urom_pdk::prelude::*;

/// The longest text that goes to the other end, in bytes.
const LONGEST_TEXT: usize = 512;

/// The error of the operations that were not complete when an instance failed.
pub(crate) fn of_others(error: &Error) -> Error {
    match error.code() {
        DocaError::SHUTDOWN => error.clone(),
        _ => Error::new(
            DocaError::CONNECTION_ABORTED,
            format!("the instance had failed before: {error}"),
        ),
    }
}

/// The text of an error for the other end, cut where it is too long.
pub(crate) fn text(error: &Error) -> Vec<u8> {
    let mut text = error.to_string().into_bytes();
    text.truncate(LONGEST_TEXT);
    text
}

/// An error of the other end, from which this text came.
pub(crate) fn of_peer(code: DocaError, what: &str, text: &[u8]) -> Error {
    let text = String::from_utf8_lossy(&text[..text.len().min(LONGEST_TEXT)]);
    Error::new(code, format!("{what}: {text}"))
}

/// A message that no instance of this kit sends.
pub(crate) fn violation(what: &str) -> Error {
    Error::new(DocaError::UNEXPECTED, format!("the other end sent {what}"))
}
