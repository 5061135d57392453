//! The errors of operations, as sent between the two ends.

use urom_pdk::prelude::*;

const LONGEST_TEXT: usize = 512;

/// Returns the error of operations that were pending when an instance failed.
pub(crate) fn of_others(error: &Error) -> Error {
    match error.code() {
        DocaError::SHUTDOWN => error.clone(),
        _ => Error::new(
            DocaError::CONNECTION_ABORTED,
            format!("the instance had failed before: {error}"),
        ),
    }
}

/// Returns the text of an error for the other end, truncated to [`LONGEST_TEXT`].
pub(crate) fn text(error: &Error) -> Vec<u8> {
    let mut text = error.to_string().into_bytes();
    text.truncate(LONGEST_TEXT);
    text
}

/// Makes an error from the other end's text.
pub(crate) fn of_peer(code: DocaError, what: &str, text: &[u8]) -> Error {
    let text = String::from_utf8_lossy(&text[..text.len().min(LONGEST_TEXT)]);
    Error::new(code, format!("{what}: {text}"))
}

pub(crate) fn violation(what: &str) -> Error {
    Error::new(DocaError::UNEXPECTED, format!("the other end sent {what}"))
}
