//! The error of this crate's all-gathers.

use std::fmt;
use std::io;

use urom_abi::DocaError;

/// An error of an all-gather: a sentence, and the DOCA code for the domain's start.
#[derive(Debug)]
pub struct Error {
    code: DocaError,
    text: String,
    source: Option<io::Error>,
}

impl Error {
    /// The text describes the failure and, if known, the participant.
    pub fn new(code: DocaError, text: impl Into<String>) -> Error {
        Error { code, text: text.into(), source: None }
    }

    /// Adds the system's error, which determines the code.
    pub fn io(text: impl Into<String>, source: io::Error) -> Error {
        Error { code: code_of_io(&source), text: text.into(), source: Some(source) }
    }

    pub(super) fn is_io(&self) -> bool {
        self.source.is_some()
    }

    /// The DOCA code.
    pub fn code(&self) -> DocaError {
        self.code
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

/// The text includes the system's error, so `source` returns `None`.
impl std::error::Error for Error {}

pub(super) fn code_of_io(error: &io::Error) -> DocaError {
    match error.kind() {
        io::ErrorKind::TimedOut => DocaError::TIME_OUT,
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::UnexpectedEof => DocaError::CONNECTION_RESET,
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotConnected => DocaError::NOT_CONNECTED,
        io::ErrorKind::InvalidInput => DocaError::INVALID_VALUE,
        _ => DocaError::IO_FAILED,
    }
}
