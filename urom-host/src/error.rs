//! The error type: a DOCA code with the failed action, its object, the reason, and a hint.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use urom_abi::{DocaError, DocaStatus};
use urom_os::fork::{Inherited, Maker};

/// An error of this crate.
///
/// Its text is one sentence: the failed action and its object, the DOCA code, the reason, and a
/// hint. [`code`](Self::code) is the DOCA code that a C program would get; [`kind`](Self::kind) is
/// for programs that react to errors. The text includes the text of the
/// [`source`](StdError::source), which is for programs that match its type.
pub struct Error(Box<Inner>);

struct Inner {
    code: DocaError,
    kind: Option<ErrorKind>,
    what: Cow<'static, str>,
    /// Instead of `failed`.
    verb: Option<String>,
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
            kind: None,
            what,
            verb: None,
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

    pub(crate) fn timed_out(what: String, limit: Duration, look_at: &str) -> Error {
        let mut error = Error::new(DocaError::TIME_OUT, what);
        error.0.verb = Some(format!("timed out after {limit:?}"));
        error.hint(format!(
            "allow more time, or check {look_at}; a late reply is discarded and counted in \
             late_replies"
        ))
    }

    pub(crate) fn cancelled(what: String) -> Error {
        let mut error = Error::new(DocaError::SKIPPED, what).with_kind(ErrorKind::Cancelled);
        error.0.verb = Some("was cancelled".to_owned());
        error
    }

    pub(crate) fn with_kind(mut self, kind: ErrorKind) -> Error {
        self.0.kind = Some(kind);
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

    /// The DOCA code (`doca_error_t`).
    pub fn code(&self) -> DocaError {
        self.0.code
    }

    /// The kind of the failure.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind.unwrap_or_else(|| ErrorKind::of(self.0.code))
    }

    /// The cause, such as an [`EncodeError`](urom_abi::wire::EncodeError).
    #[deprecated(note = "use `std::error::Error::source`, or match `kind`")]
    pub fn cause(&self) -> Option<&(dyn StdError + Send + Sync + 'static)> {
        self.0.cause.as_deref()
    }

    /// The bytes of the notification, if the plugin sent one with a status other than `SUCCESS`.
    pub fn reply(&self) -> Option<&[u8]> {
        self.0.reply.as_deref()
    }
}

impl Inner {
    fn write(&self, to: &mut impl fmt::Write, with_code: bool) -> fmt::Result {
        let &Inner { code, ref what, ref verb, ref through, ref why, ref hint, .. } = self;
        to.write_str(what)?;
        if let Some(file) = through {
            write!(to, " through {file}")?;
        }
        write!(to, " {}", verb.as_deref().unwrap_or("failed"))?;
        if with_code {
            write!(to, " ({})", code.name())?;
        }
        match (why, verb) {
            (Some(why), _) => write!(to, ": {why}")?,
            (None, None) => write!(to, ": {}", code.description())?,
            (None, Some(_)) => {}
        }
        if let Some(hint) = hint {
            write!(to, "; {hint}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write(f, true)
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
        self.0.cause.as_deref().map(|cause| cause as _)
    }
}

impl From<urom_memory::Error> for Error {
    fn from(error: urom_memory::Error) -> Error {
        let why = error.text().to_owned();
        Error::new(error.code(), "a call on memory").caused_by(error).why(why)
    }
}

impl From<Error> for urom_memory::Error {
    fn from(error: Error) -> urom_memory::Error {
        let mut text = String::new();
        // A string takes any text.
        let _ = error.0.write(&mut text, false);
        urom_memory::Error::new(error.code(), text)
    }
}

impl From<Error> for DocaError {
    fn from(error: Error) -> DocaError {
        error.code()
    }
}

/// The kind of an [`Error`], for programs that react to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The plugin, or its worker, answered with an error. [`Error::reply`] has the bytes.
    Plugin,
    /// The program cancelled the operation.
    Cancelled,
    /// The operation took longer than its timeout.
    TimedOut,
    /// The worker, the service or the connection to it has ended.
    Disconnected,
    /// A limit on tasks, workers or memory is reached. The operation may succeed later.
    Full,
    /// A message exceeds the message limit.
    TooBig,
    /// The answer is not a message of the protocol.
    Malformed,
    /// An argument or a setting is invalid.
    Invalid,
    /// The named object does not exist.
    NotFound,
    /// The key or the permissions do not allow the operation.
    Denied,
    /// The library, the service or the plugin lacks the function, or its version differs.
    Unsupported,
    /// The object is in another state than the operation requires.
    State,
    /// Any other failure; see [`Error::code`].
    Other,
}

impl ErrorKind {
    fn of(code: DocaError) -> ErrorKind {
        match code {
            DocaError::TIME_OUT => ErrorKind::TimedOut,
            DocaError::CONNECTION_RESET
            | DocaError::CONNECTION_ABORTED
            | DocaError::NOT_CONNECTED
            | DocaError::SHUTDOWN => ErrorKind::Disconnected,
            DocaError::NO_MEMORY | DocaError::FULL | DocaError::AGAIN => ErrorKind::Full,
            DocaError::TOO_BIG => ErrorKind::TooBig,
            DocaError::INVALID_VALUE => ErrorKind::Invalid,
            DocaError::NOT_FOUND => ErrorKind::NotFound,
            DocaError::AUTHENTICATION | DocaError::NOT_PERMITTED => ErrorKind::Denied,
            DocaError::NOT_SUPPORTED | DocaError::UNSUPPORTED_VERSION => ErrorKind::Unsupported,
            DocaError::BAD_STATE
            | DocaError::IN_USE
            | DocaError::ALREADY_EXIST
            | DocaError::IN_PROGRESS => ErrorKind::State,
            _ => ErrorKind::Other,
        }
    }
}

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Converts a DOCA result; `what` is only called after a failure.
pub(crate) fn check<W: Into<Cow<'static, str>>>(
    status: DocaStatus,
    what: impl FnOnce() -> W,
) -> Result<()> {
    status.check().map_err(|code| Error::new(code, what()))
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
            "looking for plugin `a` failed (DOCA_ERROR_NOT_FOUND): the service has `b`; set \
             UROM_PLUGIN_PATH"
        );
        assert_eq!(error.code(), DocaError::NOT_FOUND);
        assert_eq!(DocaError::from(error), DocaError::NOT_FOUND);
    }

    #[test]
    fn memory_errors_keep_their_code_and_text_in_both_directions() {
        let memory = urom_memory::Error::new(DocaError::IN_USE, "it has buffers");
        let error = Error::from(memory.clone());
        assert_eq!(
            error.to_string(),
            "a call on memory failed (DOCA_ERROR_IN_USE): it has buffers"
        );
        let source = error.source().and_then(|source| source.downcast_ref());
        assert_eq!(source, Some(&memory));
        let again = urom_memory::Error::from(error);
        assert_eq!(
            again.to_string(),
            "a call on memory failed: it has buffers (DOCA_ERROR_IN_USE)"
        );
        let cancelled = urom_memory::Error::from(Error::cancelled("a share".to_owned()));
        assert_eq!(cancelled.to_string(), "a share was cancelled (DOCA_ERROR_SKIPPED)");
    }

    #[test]
    fn an_empty_reason_leaves_no_trace() {
        let error = Error::new(DocaError::UNKNOWN, "x").why("");
        assert_eq!(error.to_string(), "x failed (DOCA_ERROR_UNKNOWN): unknown error");
    }

    #[test]
    fn the_source_has_its_type_and_its_text_is_in_the_error() {
        let source = urom_abi::wire::EncodeError::TooBig { message: "M", need: 10, capacity: 5 };
        let error = Error::new(DocaError::TOO_BIG, "x").caused_by(source);
        let found = error.source().and_then(|e| e.downcast_ref::<urom_abi::wire::EncodeError>());
        assert_eq!((found, error.kind()), (Some(&source), ErrorKind::TooBig));
        assert!(error.to_string().contains("takes 10 bytes, but 5 fit"));
    }
}
