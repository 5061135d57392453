//! Failures inside the library: the code the caller gets, and the sentence `urom_ctx_get_failure`
//! gives.

use urom_abi::DocaError;
use urom_wire::control::Failure;
use urom_wire::stream::StreamError;

/// A [`Failure`]: the name of a code, or `code = expression`, and a
/// formatted sentence.
macro_rules! failure {
    (code = $code:expr, $($text:tt)+) => {
        ::urom_wire::control::Failure::new($code, format!($($text)+))
    };
    ($code:ident, $($text:tt)+) => {
        ::urom_wire::control::Failure::new(::urom_abi::DocaError::$code, format!($($text)+))
    };
}
pub(super) use failure;

/// Returns a [`failure!`] if a condition holds.
macro_rules! fail_if {
    ($condition:expr, $($failure:tt)+) => {
        if $condition {
            return Err($crate::failure::failure!($($failure)+));
        }
    };
}
pub(super) use fail_if;

/// The code as an error if a condition holds.
#[inline]
pub(super) fn refuse_if(condition: bool, code: DocaError) -> Result<(), DocaError> {
    if condition { Err(code) } else { Ok(()) }
}

/// Refuses a UCX that is too old to be called.
pub(super) fn require_ucx() -> Result<(), Failure> {
    ucx::require_version().map_err(|error| failure!(UNSUPPORTED_VERSION, "{error}"))
}

/// Which code the end of a control stream stands for.
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
