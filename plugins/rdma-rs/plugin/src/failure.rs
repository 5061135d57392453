//! Why an operation, or a whole instance, failed.

use std::rc::Rc;

use urom_pdk::prelude::*;

/// The longest text that goes to the other end, in bytes.
const LONGEST_TEXT: usize = 512;

/// A code and a text, with which several operations end.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) code: DocaError,
    pub(crate) why: Rc<str>,
}

impl Failure {
    pub(crate) fn new(code: DocaError, why: impl Into<Rc<str>>) -> Failure {
        Failure { code, why: why.into() }
    }

    /// A failure at the other end, of which this text came.
    pub(crate) fn there(code: DocaError, what: &str, text: &[u8]) -> Failure {
        let text = &text[..text.len().min(LONGEST_TEXT)];
        Failure::new(code, format!("{what}: {}", String::from_utf8_lossy(text)))
    }

    /// The text for the other end, cut where it is too long.
    pub(crate) fn text(&self) -> &[u8] {
        &self.why.as_bytes()[..self.why.len().min(LONGEST_TEXT)]
    }

    /// The failure of the operations that were not complete when this happened.
    pub(crate) fn of_others(&self) -> Failure {
        if self.code == DocaError::SHUTDOWN {
            return self.clone();
        }
        let why = format!("the instance had failed before: {}", self.why);
        Failure::new(DocaError::CONNECTION_ABORTED, why)
    }
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Failure {
        Failure::new(error.code(), error.to_string())
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        Error::new(failure.code, failure.why.to_string())
    }
}

/// A message that no instance of this kit sends.
pub(crate) fn violation(what: &str) -> Error {
    Error::new(DocaError::UNEXPECTED, format!("the other end sent {what}"))
}
