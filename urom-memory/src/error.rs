//! The one error type: a DOCA code and a message.

use std::borrow::Cow;
use std::fmt;

use urom_abi::DocaError;

/// The result of this crate's functions, by default with [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed: DOCA's code and a message with the request and the limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    code: DocaError,
    text: Cow<'static, str>,
}

impl Error {
    #[doc(hidden)]
    pub fn new(code: DocaError, text: impl Into<Cow<'static, str>>) -> Error {
        Error { code, text: text.into() }
    }

    #[cold]
    pub(crate) fn invalid(text: impl Into<Cow<'static, str>>) -> Error {
        Error::new(DocaError::INVALID_VALUE, text)
    }

    #[cold]
    pub(crate) fn not_permitted(text: impl Into<Cow<'static, str>>) -> Error {
        Error::new(DocaError::NOT_PERMITTED, text)
    }

    #[cold]
    pub(crate) fn out_of_range(offset: u64, len: u64, size: u64) -> Error {
        Error::invalid(format!("{len} bytes at {offset} do not lie within memory of {size} bytes"))
    }

    #[cold]
    pub(crate) fn system(what: &str, error: std::io::Error) -> Error {
        let code = match error.kind() {
            std::io::ErrorKind::OutOfMemory => DocaError::NO_MEMORY,
            _ => DocaError::OPERATING_SYSTEM,
        };
        Error::new(code, format!("{what}: {error}"))
    }

    /// Returns the code that the C function returns in this case.
    #[must_use]
    pub fn code(&self) -> DocaError {
        self.code
    }

    /// Returns the message without the code.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.text, self.code.name())
    }
}

impl std::error::Error for Error {}

impl From<Error> for DocaError {
    fn from(error: Error) -> DocaError {
        error.code
    }
}
