//! `doca_error_t`: the result code of every DOCA call, task and notification.

use std::ffi::CStr;
use std::fmt;
use std::num::NonZeroU32;

use urom_os::fork::Inherited;

use crate::c_text::c_text;

/// A DOCA result code (`doca_error_t`, 32 bits): success or an error.
///
/// A number instead of an enum, because C and the network may send unknown codes.
/// [`check`](Self::check) separates success from errors.
#[derive(
    Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, bytemuck::Zeroable, bytemuck::Pod,
)]
#[repr(transparent)]
pub struct DocaStatus(pub u32);

/// A DOCA error code: every [`DocaStatus`] except success.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DocaError(NonZeroU32);

macro_rules! codes {
    (
        $ok:literal $success:ident $c_ok:literal $text_ok:literal;
        $($value:literal $name:ident $c:literal $text:literal;)*
    ) => {
        impl DocaStatus {
            #[doc = concat!("`", $c_ok, "`: ", $text_ok, ".")]
            pub const $success: DocaStatus = DocaStatus($ok);
            $(#[doc = concat!("`", $c, "`: ", $text, ".")] pub const $name: DocaStatus = DocaStatus($value);)*

            /// Returns the C name (`doca_error_get_name`), or `DOCA_ERROR_UNRECOGNIZED`.
            pub const fn name(self) -> &'static str {
                match self.0 {
                    $ok => $c_ok,
                    $($value => $c,)*
                    _ => "DOCA_ERROR_UNRECOGNIZED",
                }
            }

            /// Returns a lower-case description without a full stop (`doca_error_get_descr`).
            pub const fn description(self) -> &'static str {
                match self.0 {
                    $ok => $text_ok,
                    $($value => $text,)*
                    _ => "unrecognized error code",
                }
            }

            #[doc(hidden)]
            pub const fn c_name(self) -> &'static CStr {
                match self.0 {
                    $ok => c_text(concat!($c_ok, "\0")),
                    $($value => c_text(concat!($c, "\0")),)*
                    _ => c"DOCA_ERROR_UNRECOGNIZED",
                }
            }

            #[doc(hidden)]
            pub const fn c_description(self) -> &'static CStr {
                match self.0 {
                    $ok => c_text(concat!($text_ok, "\0")),
                    $($value => c_text(concat!($text, "\0")),)*
                    _ => c"unrecognized error code",
                }
            }
        }

        impl DocaError {
            $(
                #[doc = concat!("`", $c, "`: ", $text, ".")]
                pub const $name: DocaError = DocaError(NonZeroU32::new($value).unwrap());
            )*
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

impl DocaStatus {
    /// Returns `Ok` for [`SUCCESS`](Self::SUCCESS), else the error (`DOCA_IS_ERROR`).
    ///
    /// # Errors
    /// The code, unless it is `SUCCESS`.
    #[inline]
    pub const fn check(self) -> Result<(), DocaError> {
        match NonZeroU32::new(self.0) {
            None => Ok(()),
            Some(code) => Err(DocaError(code)),
        }
    }
}

impl DocaError {
    /// Success is not an error; kept for code that compares statuses with it.
    #[deprecated(note = "use `DocaStatus::SUCCESS`")]
    pub const SUCCESS: DocaStatus = DocaStatus::SUCCESS;

    /// Returns the error with a code; for 0, not a failure, [`UNEXPECTED`](Self::UNEXPECTED).
    #[inline]
    pub const fn from_code(code: u32) -> DocaError {
        match NonZeroU32::new(code) {
            Some(code) => DocaError(code),
            None => DocaError::UNEXPECTED,
        }
    }

    /// Returns the code, which is never 0.
    #[inline]
    pub const fn code(self) -> u32 {
        self.0.get()
    }

    /// Returns the C name (`doca_error_get_name`), or `DOCA_ERROR_UNRECOGNIZED`.
    pub const fn name(self) -> &'static str {
        DocaStatus(self.code()).name()
    }

    /// Returns a lower-case description without a full stop (`doca_error_get_descr`).
    pub const fn description(self) -> &'static str {
        DocaStatus(self.code()).description()
    }
}

impl From<DocaError> for DocaStatus {
    #[inline]
    fn from(error: DocaError) -> DocaStatus {
        DocaStatus(error.code())
    }
}

impl From<Result<(), DocaError>> for DocaStatus {
    #[inline]
    fn from(result: Result<(), DocaError>) -> DocaStatus {
        result.map_or_else(DocaStatus::from, |()| DocaStatus::SUCCESS)
    }
}

impl PartialEq<DocaError> for DocaStatus {
    #[inline]
    fn eq(&self, error: &DocaError) -> bool {
        self.0 == error.code()
    }
}

impl PartialEq<DocaStatus> for DocaError {
    #[inline]
    fn eq(&self, status: &DocaStatus) -> bool {
        status == self
    }
}

impl fmt::Debug for DocaStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name(), self.0)
    }
}

impl fmt::Display for DocaStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.description(), self.name())
    }
}

impl fmt::Debug for DocaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&DocaStatus::from(*self), f)
    }
}

impl fmt::Display for DocaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&DocaStatus::from(*self), f)
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
        let odd = DocaStatus(0xdead_beef);
        assert_eq!(odd.name(), "DOCA_ERROR_UNRECOGNIZED");
        assert_eq!(odd.description(), "unrecognized error code");
        assert_eq!(odd.check(), Err(DocaError::from_code(0xdead_beef)));
    }

    #[test]
    fn an_error_is_never_a_success() {
        assert_eq!(DocaStatus::default().check(), Ok(()));
        assert_eq!(DocaError::from_code(0), DocaError::UNEXPECTED);
        for result in [Ok(()), Err(DocaError::AGAIN), Err(DocaError::from_code(u32::MAX))] {
            assert_eq!(DocaStatus::from(result).check(), result);
        }
        assert_eq!(DocaStatus::EMPTY, DocaError::EMPTY);
        assert_ne!(DocaError::EMPTY, DocaStatus::SUCCESS);
    }

    #[test]
    fn c_has_the_same_texts() {
        for code in (0..40).chain([u32::MAX]).map(DocaStatus) {
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
        assert_eq!(format!("{:?}", DocaStatus::SUCCESS), "DOCA_SUCCESS(0)");
    }
}
