//! UCX's results: [`Status`], and [`Error`], a status with the failed action.

use std::borrow::Cow;
use std::ffi::CStr;
use std::fmt;

use ucx_sys as sys;

use crate::variables;

/// The result of a UCX operation: `ucs_status_t`. Zero is success, one is "in progress", negative
/// values are errors. Any byte is valid, such as a status of another UCX version.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Status(i8);

macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident = $raw:ident;)*) => {
        impl Status {
            $(
                #[doc = concat!("`", stringify!($raw), "`.")]
                $(#[$doc])*
                pub const $name: Status = Status(sys::$raw.0);
            )*

            /// Returns the name of the constant in UCX's headers, if UCX 1.16 has this status.
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $(Status::$name => Some(stringify!($raw)),)*
                    _ => None,
                }
            }
        }
    };
}

statuses! {
    OK = UCS_OK;
    /// Started and not yet complete.
    IN_PROGRESS = UCS_INPROGRESS;
    NO_MESSAGE = UCS_ERR_NO_MESSAGE;
    NO_RESOURCE = UCS_ERR_NO_RESOURCE;
    /// Input, output or a system call failed.
    IO_ERROR = UCS_ERR_IO_ERROR;
    NO_MEMORY = UCS_ERR_NO_MEMORY;
    INVALID_PARAM = UCS_ERR_INVALID_PARAM;
    /// No transport reaches the peer.
    UNREACHABLE = UCS_ERR_UNREACHABLE;
    INVALID_ADDR = UCS_ERR_INVALID_ADDR;
    NOT_IMPLEMENTED = UCS_ERR_NOT_IMPLEMENTED;
    /// The message is longer than the buffer.
    MESSAGE_TRUNCATED = UCS_ERR_MESSAGE_TRUNCATED;
    NO_PROGRESS = UCS_ERR_NO_PROGRESS;
    /// The buffer is too small; nothing was written.
    BUFFER_TOO_SMALL = UCS_ERR_BUFFER_TOO_SMALL;
    /// Element not found; also an unknown configuration name.
    NO_ELEM = UCS_ERR_NO_ELEM;
    SOME_CONNECTS_FAILED = UCS_ERR_SOME_CONNECTS_FAILED;
    /// Device not found; also a transport list without a device.
    NO_DEVICE = UCS_ERR_NO_DEVICE;
    BUSY = UCS_ERR_BUSY;
    /// A request was cancelled, or its endpoint was closed by force.
    CANCELED = UCS_ERR_CANCELED;
    SHMEM_SEGMENT = UCS_ERR_SHMEM_SEGMENT;
    ALREADY_EXISTS = UCS_ERR_ALREADY_EXISTS;
    OUT_OF_RANGE = UCS_ERR_OUT_OF_RANGE;
    TIMED_OUT = UCS_ERR_TIMED_OUT;
    EXCEEDS_LIMIT = UCS_ERR_EXCEEDS_LIMIT;
    UNSUPPORTED = UCS_ERR_UNSUPPORTED;
    REJECTED = UCS_ERR_REJECTED;
    NOT_CONNECTED = UCS_ERR_NOT_CONNECTED;
    /// The peer closed the connection or died.
    CONNECTION_RESET = UCS_ERR_CONNECTION_RESET;
    /// The peer does not answer.
    ENDPOINT_TIMEOUT = UCS_ERR_ENDPOINT_TIMEOUT;
}

impl Status {
    /// Makes a status of any code.
    #[must_use]
    pub const fn from_code(code: i8) -> Self {
        Status(code)
    }

    /// Returns the number, as in UCX's headers and in plugins' messages.
    #[must_use]
    pub const fn code(self) -> i8 {
        self.0
    }

    /// Returns whether this is [`Status::OK`].
    #[must_use]
    pub const fn is_ok(self) -> bool {
        self.0 == 0
    }

    /// Returns whether this is an error: neither done nor in progress.
    #[must_use]
    pub const fn is_error(self) -> bool {
        self.0 < 0
    }

    /// Converts the status to a result; only negative values are errors.
    pub const fn ok(self) -> std::result::Result<(), Status> {
        if self.is_error() { Err(self) } else { Ok(()) }
    }

    pub(crate) fn from_raw(raw: sys::ucs_status_t) -> Self {
        Status(raw.0)
    }

    pub(crate) fn during(self, what: impl Into<Cow<'static, str>>) -> Error {
        Error { status: self, what: what.into(), variables: String::new() }
    }

    /// Formats the status with this process's `UCX_*` variables, which may be its cause.
    #[must_use]
    pub fn with_variables(self) -> String {
        format!("{self}{}", blamed(self))
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(name) = self.name() else {
            return write!(f, "a status unknown to this version ({})", self.0);
        };
        // SAFETY: accepts any value; for a known one, the string is a constant.
        let text = unsafe { sys::ucs_status_string(sys::ucs_status_t(self.0)) };
        // SAFETY: UCX returns a string that is never freed.
        let text = unsafe { CStr::from_ptr(text) };
        write!(f, "{} ({name}, {})", text.to_string_lossy(), self.0)
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "Status({})", self.0),
        }
    }
}

impl std::error::Error for Status {}

/// A failed UCX call: the action and its [`Status`].
#[derive(Debug, Clone)]
pub struct Error {
    status: Status,
    what: Cow<'static, str>,
    variables: String,
}

/// The result of a setup call; requests end with a plain [`Status`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Returns UCX's status.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status
    }

    pub(crate) fn with_variables(mut self) -> Error {
        self.variables = blamed(self.status);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UCX: {}: {}{}", self.what, self.status, self.variables)
    }
}

impl std::error::Error for Error {}

impl From<Error> for Status {
    fn from(error: Error) -> Status {
        error.status
    }
}

/// Returns the error's suffix about variables; empty if none can be the cause.
fn blamed(status: Status) -> String {
    if matches!(status, Status::CONNECTION_RESET | Status::CANCELED) {
        return String::new();
    }
    if status == Status::UNREACHABLE {
        let advice = "UCX_TLS and UCX_NET_DEVICES of both sides must leave a common transport";
        return format!("; {}: {advice}", variables::variables());
    }
    if variables::set().is_empty() {
        String::new()
    } else {
        format!("; {}, which may be the cause", variables::variables())
    }
}

pub(crate) fn check(status: sys::ucs_status_t, what: impl Into<Cow<'static, str>>) -> Result<()> {
    let status = Status::from_raw(status);
    if status.is_error() { Err(status.during(what).with_variables()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_a_status_that_prints() {
        for code in i8::MIN..=i8::MAX {
            let status = Status::from_code(code);
            assert_eq!(status.code(), code);
            assert_eq!(status.is_error(), code < 0);
            assert!(status.to_string().contains(&format!("{code})")), "{status}");
        }
    }

    #[test]
    fn a_known_status_prints_its_text_name_and_number() {
        assert_eq!(
            Status::UNREACHABLE.to_string(),
            "Destination is unreachable (UCS_ERR_UNREACHABLE, -6)"
        );
        assert_eq!(format!("{:?}", Status::BUSY), "UCS_ERR_BUSY");
        assert_eq!(format!("{:?}", Status::from_code(-77)), "Status(-77)");
    }

    #[test]
    fn only_negative_values_are_errors() {
        assert_eq!(Status::OK.ok(), Ok(()));
        assert_eq!(Status::IN_PROGRESS.ok(), Ok(()));
        assert_eq!(Status::CANCELED.ok(), Err(Status::CANCELED));
    }

    #[test]
    fn an_error_names_its_operation() {
        let error = Status::NO_ELEM.during("setting TLX");
        assert_eq!(error.status(), Status::NO_ELEM);
        assert!(error.to_string().starts_with("UCX: setting TLX: "), "{error}");
    }
}
