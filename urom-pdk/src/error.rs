//! The error type of handlers, and the host's status for it.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use urom_abi::DocaError;
use urom_abi::wire::{DecodeError, EncodeError};

/// The result of a handler.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Turns any error into an [`Error`] with a code and a message.
pub trait OrCode<T> {
    /// Returns the value, or an [`Error`] with this code and message, and the original as source.
    ///
    /// ```
    /// use urom_pdk::prelude::*;
    /// let error = "x".parse::<u32>().or_code(DocaError::BAD_CONFIG, "ranks is not a number");
    /// assert_eq!(
    ///     error.unwrap_err().to_string(),
    ///     "ranks is not a number: invalid digit found in string (DOCA_ERROR_BAD_CONFIG)"
    /// );
    /// ```
    /// # Errors
    /// That error.
    #[track_caller]
    fn or_code(self, code: DocaError, message: impl Into<Cow<'static, str>>) -> Result<T>;
}

impl<T, E: Into<Box<dyn StdError + Send + Sync>>> OrCode<T> for std::result::Result<T, E> {
    #[track_caller]
    fn or_code(self, code: DocaError, message: impl Into<Cow<'static, str>>) -> Result<T> {
        match self {
            Ok(value) => Ok(value),
            Err(error) => Err(Error::new(code, message).with_source(error)),
        }
    }
}

/// Returns an [`Error`] with a code and a formatted message from the function.
///
/// ```
/// use urom_pdk::prelude::*;
///
/// fn first(values: &[u8]) -> Result<u8> {
///     let Some(value) = values.first() else { bail!(DocaError::EMPTY, "a list of no values") };
///     Ok(*value)
/// }
/// assert_eq!(first(&[]).unwrap_err().code(), DocaError::EMPTY);
/// ```
#[macro_export]
macro_rules! bail {
    ($code:expr, $($message:tt)+) => {
        return Err($crate::Error::new($code, ::std::format!($($message)+)))
    };
}

/// Returns an [`Error`] with a code and a formatted message from the function, unless the condition
/// holds.
///
/// ```
/// use urom_pdk::prelude::*;
///
/// fn check(ranks: u32) -> Result<()> {
///     ensure!(ranks <= 1024, DocaError::TOO_BIG, "{ranks} ranks exceed 1024");
///     Ok(())
/// }
/// assert_eq!(check(2000).unwrap_err().to_string(), "2000 ranks exceed 1024 (DOCA_ERROR_TOO_BIG)");
/// ```
#[macro_export]
macro_rules! ensure {
    ($condition:expr, $code:expr, $($message:tt)+) => {
        if !$condition {
            $crate::bail!($code, $($message)+);
        }
    };
}

/// Why a handler failed. The [code](Error::code) becomes the status of the notification and of the
/// host's task. The message and the sources go to the log, with the line that created the error by
/// `?` or by a constructor. A worker of this kit also sends up to 2,048 bytes of them to the host:
/// put no secrets in them. A clone has the same source.
#[derive(Clone, Debug)]
pub struct Error(Repr);

/// Small, because every command returns a result.
#[derive(Clone, Debug)]
enum Repr {
    Bare(DocaError, Option<&'static Location<'static>>),
    Detailed(DocaError, Box<Detail>),
}

#[derive(Clone, Debug)]
struct Detail {
    message: Cow<'static, str>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
    at: Option<&'static Location<'static>>,
}

impl Error {
    /// Creates an error with a status for the host and a message for the log.
    #[track_caller]
    pub fn new(code: DocaError, message: impl Into<Cow<'static, str>>) -> Error {
        Error::detailed(code, message.into(), None, caller())
    }

    fn detailed(
        code: DocaError,
        message: Cow<'static, str>,
        source: Option<Arc<dyn StdError + Send + Sync>>,
        at: Option<&'static Location<'static>>,
    ) -> Error {
        Error(Repr::Detailed(code, Box::new(Detail { message, source, at })))
    }

    /// Adds the error that caused this one.
    #[must_use]
    pub fn with_source(self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        let source = Some(Arc::from(source.into()));
        match self.0 {
            Repr::Bare(code, at) => Error::detailed(code, code.description().into(), source, at),
            Repr::Detailed(code, mut detail) => {
                detail.source = source;
                Error(Repr::Detailed(code, detail))
            }
        }
    }

    /// Returns the code.
    pub fn code(&self) -> DocaError {
        let (Repr::Bare(code, _) | Repr::Detailed(code, _)) = self.0;
        code
    }

    pub(crate) fn message(&self) -> Option<impl fmt::Display + '_> {
        self.detail().map(|_| Sentence(self))
    }

    pub(crate) fn at(&self) -> Option<&'static Location<'static>> {
        match &self.0 {
            Repr::Bare(_, at) => *at,
            Repr::Detailed(_, detail) => detail.at,
        }
    }

    fn detail(&self) -> Option<&Detail> {
        match &self.0 {
            Repr::Bare(..) => None,
            Repr::Detailed(_, detail) => Some(detail),
        }
    }
}

/// The caller in the plugin; `None` through a pointer, as in `map_err(Error::from)`.
#[track_caller]
fn caller() -> Option<&'static Location<'static>> {
    let kit = file!().trim_end_matches("error.rs");
    Some(Location::caller()).filter(|at| !at.file().starts_with(kit))
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", Sentence(self), self.code().name())
    }
}

struct Sentence<'a>(&'a Error);

impl fmt::Display for Sentence<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = self.0.detail().map(|detail| &*detail.message);
        write!(f, "{}", message.unwrap_or(self.0.code().description()))?;
        let mut source = self.0.source();
        while let Some(error) = source {
            write!(f, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.detail()?.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

/// The code alone; its description is the message. Does not allocate.
impl From<DocaError> for Error {
    #[track_caller]
    fn from(code: DocaError) -> Error {
        Error(Repr::Bare(code, caller()))
    }
}

/// `INVALID_VALUE`.
impl From<DecodeError> for Error {
    fn from(error: DecodeError) -> Error {
        Error::new(error.into(), "malformed command").with_source(error)
    }
}

/// `TOO_BIG` or `NO_MEMORY`.
impl From<EncodeError> for Error {
    fn from(error: EncodeError) -> Error {
        Error::new(error.into(), "could not write the notification").with_source(error)
    }
}

/// Keeps the code.
impl From<urom_memory::Error> for Error {
    #[track_caller]
    fn from(error: urom_memory::Error) -> Error {
        // Not as a source: its text would repeat the code.
        Error::new(error.code(), format!("a host's memory: {}", error.text()))
    }
}

/// `UNEXPECTED`.
impl From<&'static str> for Error {
    #[track_caller]
    fn from(message: &'static str) -> Error {
        Error::new(DocaError::UNEXPECTED, message)
    }
}

/// `UNEXPECTED`.
impl From<String> for Error {
    #[track_caller]
    fn from(message: String) -> Error {
        Error::new(DocaError::UNEXPECTED, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use urom_abi::wire::DecodeProblem;

    #[test]
    fn a_text_alone_is_unexpected() {
        assert_eq!(Error::from("no idea").code(), DocaError::UNEXPECTED);
    }

    #[test]
    fn an_error_is_two_words() {
        assert_eq!(size_of::<Error>(), 16);
        assert_eq!(size_of::<Result<std::ptr::NonNull<u8>>>(), 16);
    }

    #[test]
    fn a_bare_code_is_described_and_may_have_a_source() {
        let error = Error::from(DocaError::EMPTY);
        assert_eq!(error.to_string(), "no entry is available in resource (DOCA_ERROR_EMPTY)");
        let error = error.with_source("nothing there");
        assert_eq!(
            error.to_string(),
            "no entry is available in resource: nothing there (DOCA_ERROR_EMPTY)"
        );
    }

    #[test]
    fn wire_errors_keep_their_text_and_get_docas_code() {
        let decode = DecodeError {
            message: "Loopback",
            field: "length",
            problem: DecodeProblem::Length { found: 17, expected: 16 },
        };
        let error = Error::from(decode);
        assert_eq!(error.code(), DocaError::INVALID_VALUE);
        assert_eq!(
            error.to_string(),
            "malformed command: Loopback: length: 17 bytes, but its fields call for exactly 16 \
             (DOCA_ERROR_INVALID_VALUE)"
        );
        assert!(error.source().is_some_and(|source| source.is::<DecodeError>()));
        let encode = EncodeError::TooBig { message: "LoopbackDone", need: 5000, capacity: 4064 };
        assert_eq!(Error::from(encode).code(), DocaError::TOO_BIG);
    }
}
