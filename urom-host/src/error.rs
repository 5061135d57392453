//! The error type: a DOCA code with the failed action, its object, the reason, and a hint.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;

use urom_abi::DocaError;
use urom_os::fork::{Inherited, Maker};

/// An error of this crate.
///
/// Its text is one sentence: the failed action and its object, the DOCA code, the library's reason
/// if any, and a hint. [`code`](Self::code) is the DOCA code that a C program would get.
pub struct Error(Box<Inner>);

struct Inner {
    code: DocaError,
    what: Cow<'static, str>,
    through: Option<String>,
    why: Option<String>,
    hint: Option<Cow<'static, str>>,
    reply: Option<Box<[u8]>>,
    cause: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// For crates built on this one. `what` is a phrase such as `starting worker 3`.
    pub fn new(code: DocaError, what: impl Into<Cow<'static, str>>) -> Error {
        let what = what.into();
        Error(Box::new(Inner {
            code,
            what,
            through: None,
            why: None,
            hint: None,
            reply: None,
            cause: None,
        }))
    }

    /// Adds the reason; an empty text adds nothing.
    pub fn why(mut self, why: impl Into<String>) -> Error {
        self.0.why = Some(why.into()).filter(|text| !text.is_empty());
        self
    }

    /// Adds a hint for the user.
    pub fn hint(mut self, hint: impl Into<Cow<'static, str>>) -> Error {
        self.0.hint = Some(hint.into());
        self
    }

    pub(crate) fn through(mut self, file: Option<impl fmt::Display>) -> Error {
        self.0.through = file.map(|file| file.to_string());
        self
    }

    pub(crate) fn with_reply(mut self, reply: &[u8]) -> Error {
        self.0.reply = Some(reply.into());
        self
    }

    pub(crate) fn caused_by(mut self, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        let cause = cause.into();
        self.0.why = Some(cause.to_string());
        self.0.cause = Some(cause);
        self
    }

    /// The DOCA code (`doca_error_t`); never `SUCCESS`.
    pub fn code(&self) -> DocaError {
        self.0.code
    }

    /// The cause, such as an [`EncodeError`](urom_abi::wire::EncodeError). `source` leaves it out
    /// because this error's text includes its text.
    pub fn cause(&self) -> Option<&(dyn StdError + Send + Sync + 'static)> {
        self.0.cause.as_deref()
    }

    /// The bytes of the notification, if the plugin sent one with a status other than `SUCCESS`.
    pub fn reply(&self) -> Option<&[u8]> {
        self.0.reply.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.what)?;
        if let Some(file) = &self.0.through {
            write!(f, " through {file}")?;
        }
        write!(f, " failed: {}", self.0.code)?;
        if let Some(why) = &self.0.why {
            write!(f, ": {why}")?;
        }
        if let Some(hint) = &self.0.hint {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

/// As `Display`: a `main` that returns an error prints the `Debug` text.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.cause()?.source()
    }
}

impl From<urom_memory::Error> for Error {
    fn from(error: urom_memory::Error) -> Error {
        Error::new(error.code(), "a call on memory").why(error.text().to_owned())
    }
}

impl From<Error> for DocaError {
    fn from(error: Error) -> DocaError {
        error.code()
    }
}

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Converts a DOCA result; `what` is only called after a failure.
pub(crate) fn check<W: Into<Cow<'static, str>>>(
    code: DocaError,
    what: impl FnOnce() -> W,
) -> Result<()> {
    code.check().map_err(|code| Error::new(code, what()))
}

/// Fails with `BAD_STATE` for an object made before a fork.
#[inline]
pub(crate) fn made_here<W: Into<Cow<'static, str>>>(
    maker: Maker,
    what: impl FnOnce() -> W,
) -> Result<()> {
    maker.check().map_err(|why| inherited(what(), why))
}

#[cold]
pub(crate) fn inherited(what: impl Into<Cow<'static, str>>, why: Inherited) -> Error {
    Error::new(DocaError::BAD_STATE, what).why(why.to_string()).hint(Inherited::HINT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_a_sentence_with_the_next_step() {
        let error = Error::new(DocaError::NOT_FOUND, "looking for plugin `a`")
            .why("the service has `b`")
            .hint("set UROM_PLUGIN_PATH");
        assert_eq!(
            error.to_string(),
            "looking for plugin `a` failed: resource not found (DOCA_ERROR_NOT_FOUND): the \
             service has `b`; set UROM_PLUGIN_PATH"
        );
        assert_eq!(error.code(), DocaError::NOT_FOUND);
        assert_eq!(DocaError::from(error), DocaError::NOT_FOUND);
    }

    #[test]
    fn an_empty_reason_leaves_no_trace() {
        let error = Error::new(DocaError::UNKNOWN, "x").why("");
        assert_eq!(error.to_string(), "x failed: unknown error (DOCA_ERROR_UNKNOWN)");
    }

    #[test]
    fn the_cause_can_be_had_by_type_and_is_told_once() {
        let source = urom_abi::wire::EncodeError::TooBig { message: "M", need: 10, room: 5 };
        let error = Error::new(DocaError::TOO_BIG, "x").caused_by(source);
        let found = error.cause().and_then(|e| e.downcast_ref::<urom_abi::wire::EncodeError>());
        assert_eq!(found, Some(&source));
        assert!(error.source().is_none());
        assert!(error.to_string().contains("takes 10 bytes, but 5 fit"));
    }
}
