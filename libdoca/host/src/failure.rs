//! Failures inside the library: the code the caller gets, and the sentence `urom_ctx_get_failure`
//! gives.

use urom_abi::DocaError;

use urom_wire::control::Failure;
use urom_wire::stream::StreamError;

/// A failure with a code and a sentence.
pub(super) fn failure(code: DocaError, text: impl Into<String>) -> Failure {
    Failure { code: code.0, text: text.into() }
}

/// A value that is refused.
pub(super) fn invalid(text: impl Into<String>) -> Failure {
    failure(DocaError::INVALID_VALUE, text)
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
