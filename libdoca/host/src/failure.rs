//! Internal failures: the caller's error code and the text for `urom_ctx_get_failure`.

use urom_abi::DocaError;
use urom_wire::control::Failure;
use urom_wire::stream::StreamError;

/// Builds a [`Failure`] from a code's name or `code = expression`, and a format string.
macro_rules! failure {
    (code = $code:expr, $($text:tt)+) => {
        ::urom_wire::control::Failure::new($code, format!($($text)+))
    };
    ($code:ident, $($text:tt)+) => {
        ::urom_wire::control::Failure::new(::urom_abi::DocaError::$code, format!($($text)+))
    };
}
pub(super) use failure;

macro_rules! fail_if {
    ($condition:expr, $($failure:tt)+) => {
        if $condition {
            return Err($crate::failure::failure!($($failure)+));
        }
    };
}
pub(super) use fail_if;

#[inline]
pub(super) fn refuse_if(condition: bool, code: DocaError) -> Result<(), DocaError> {
    if condition { Err(code) } else { Ok(()) }
}

pub(super) fn require_ucx() -> Result<(), Failure> {
    ucx::require_version().map_err(|error| failure!(UNSUPPORTED_VERSION, "{error}"))
}

pub(super) fn stream_code(error: &StreamError) -> DocaError {
    match error {
        StreamError::Silent(_) => DocaError::TIME_OUT,
        StreamError::Hello(_) => DocaError::UNSUPPORTED_VERSION,
        StreamError::Key(_) => DocaError::AUTHENTICATION,
        StreamError::Garbage(_) => DocaError::IO_FAILED,
        StreamError::Closed | StreamError::CutOff(_) | StreamError::Io(_) => {
            DocaError::CONNECTION_RESET
        }
    }
}
