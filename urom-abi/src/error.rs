//! `doca_error_t`: the result code of every DOCA call, task and notification.

use std::ffi::CStr;
use std::fmt;

use urom_os::fork::Inherited;

use crate::c_text::c_text;

/// A DOCA result code (`doca_error_t`, 32 bits).
///
/// A number instead of an enum, because C and the network may send unknown codes.
/// [`DocaError::SUCCESS`] is also a code; [`DocaError::check`] separates it from errors.
#[derive(
    Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, bytemuck::Zeroable, bytemuck::Pod,
)]
#[repr(transparent)]
pub struct DocaError(pub u32);

macro_rules! codes {
    ($($value:literal $name:ident $c:literal $text:literal;)*) => {
        impl DocaError {
            $(#[doc = concat!("`", $c, "`: ", $text, ".")] pub const $name: DocaError = DocaError($value);)*

            /// Returns the C name (`doca_error_get_name`), or `DOCA_ERROR_UNRECOGNIZED`.
            pub const fn name(self) -> &'static str {
                match self.0 { $($value => $c,)* _ => "DOCA_ERROR_UNRECOGNIZED" }
            }

            /// Returns a lower-case description without a full stop (`doca_error_get_descr`).
            pub const fn description(self) -> &'static str {
                match self.0 { $($value => $text,)* _ => "unrecognized error code" }
            }

            #[doc(hidden)]
            pub const fn c_name(self) -> &'static CStr {
                match self.0 {
                    $($value => c_text(concat!($c, "\0")),)*
                    _ => c"DOCA_ERROR_UNRECOGNIZED",
                }
            }

            #[doc(hidden)]
            pub const fn c_description(self) -> &'static CStr {
                match self.0 {
                    $($value => c_text(concat!($text, "\0")),)*
                    _ => c"unrecognized error code",
                }
            }
        }
    };
}

codes! {
    0 SUCCESS "DOCA_SUCCESS" "success";
    1 UNKNOWN "DOCA_ERROR_UNKNOWN" "unknown error";
    2 NOT_PERMITTED "DOCA_ERROR_NOT_PERMITTED" "operation not permitted";
    3 IN_USE "DOCA_ERROR_IN_USE" "resource already in use";
    4 NOT_SUPPORTED "DOCA_ERROR_NOT_SUPPORTED" "operation not supported";
    5 AGAIN "DOCA_ERROR_AGAIN" "resource temporarily unavailable, try again";
    6 INVALID_VALUE "DOCA_ERROR_INVALID_VALUE" "invalid input";
    7 NO_MEMORY "DOCA_ERROR_NO_MEMORY" "memory allocation failure";
    8 INITIALIZATION "DOCA_ERROR_INITIALIZATION" "resource initialization failure";
    9 TIME_OUT "DOCA_ERROR_TIME_OUT" "timer expired while waiting";
    10 SHUTDOWN "DOCA_ERROR_SHUTDOWN" "shut down in process or completed";
    11 CONNECTION_RESET "DOCA_ERROR_CONNECTION_RESET" "connection reset by peer";
    12 CONNECTION_ABORTED "DOCA_ERROR_CONNECTION_ABORTED" "connection aborted";
    13 CONNECTION_INPROGRESS "DOCA_ERROR_CONNECTION_INPROGRESS" "connection in progress";
    14 NOT_CONNECTED "DOCA_ERROR_NOT_CONNECTED" "not connected";
    15 NO_LOCK "DOCA_ERROR_NO_LOCK" "unable to acquire a required lock";
    16 NOT_FOUND "DOCA_ERROR_NOT_FOUND" "resource not found";
    17 IO_FAILED "DOCA_ERROR_IO_FAILED" "input or output operation failed";
    18 BAD_STATE "DOCA_ERROR_BAD_STATE" "bad state";
    19 UNSUPPORTED_VERSION "DOCA_ERROR_UNSUPPORTED_VERSION" "unsupported version";
    20 OPERATING_SYSTEM "DOCA_ERROR_OPERATING_SYSTEM" "operating system call failure";
    21 DRIVER "DOCA_ERROR_DRIVER" "driver call failure";
    22 UNEXPECTED "DOCA_ERROR_UNEXPECTED" "unexpected scenario detected";
    23 ALREADY_EXIST "DOCA_ERROR_ALREADY_EXIST" "resource already exists";
    24 FULL "DOCA_ERROR_FULL" "no more space in resource";
    25 EMPTY "DOCA_ERROR_EMPTY" "no entry is available in resource";
    26 IN_PROGRESS "DOCA_ERROR_IN_PROGRESS" "operation is in progress";
    27 TOO_BIG "DOCA_ERROR_TOO_BIG" "requested operation too big";
    28 AUTHENTICATION "DOCA_ERROR_AUTHENTICATION" "authentication failure";
    29 BAD_CONFIG "DOCA_ERROR_BAD_CONFIG" "configuration is not valid";
    30 SKIPPED "DOCA_ERROR_SKIPPED" "result is valid but data was skipped";
}

impl DocaError {
    /// Returns `Ok` for [`SUCCESS`](Self::SUCCESS), else the code (`DOCA_IS_ERROR`).
    ///
    /// # Errors
    /// The code, unless it is `SUCCESS`.
    pub const fn check(self) -> Result<(), DocaError> {
        if self.0 == 0 { Ok(()) } else { Err(self) }
    }

    #[doc(hidden)]
    pub const fn of(result: Result<(), DocaError>) -> DocaError {
        match result {
            Ok(()) => DocaError::SUCCESS,
            Err(code) => code,
        }
    }
}

impl fmt::Debug for DocaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name(), self.0)
    }
}

impl fmt::Display for DocaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.description(), self.name())
    }
}

impl std::error::Error for DocaError {}

impl From<Inherited> for DocaError {
    fn from(_: Inherited) -> DocaError {
        DocaError::BAD_STATE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unlisted_code_stays_a_value() {
        let odd = DocaError(0xdead_beef);
        assert_eq!(odd.name(), "DOCA_ERROR_UNRECOGNIZED");
        assert_eq!(odd.description(), "unrecognized error code");
        assert_eq!(odd.check(), Err(odd));
    }

    #[test]
    fn c_has_the_same_texts() {
        for code in (0..40).chain([u32::MAX]).map(DocaError) {
            assert_eq!(code.c_name().to_str().unwrap(), code.name());
            assert_eq!(code.c_description().to_str().unwrap(), code.description());
        }
    }

    #[test]
    fn a_message_names_the_code() {
        assert_eq!(
            DocaError::EMPTY.to_string(),
            "no entry is available in resource (DOCA_ERROR_EMPTY)"
        );
        assert_eq!(format!("{:?}", DocaError::EMPTY), "DOCA_ERROR_EMPTY(25)");
    }
}
