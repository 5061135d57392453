//! Commands for which nobody waits any more.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::task::{Poll, Waker};

use urom_abi::DocaError;
use urom_abi::extension;

use crate::Error;

/// Why nobody waits for a command any more: see [`Context::cancelled`](crate::Context::cancelled).
///
/// As an error its code is `SKIPPED`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CancelReason {
    /// The host program gave the command up.
    Cancelled,
    /// The command's deadline passed.
    TimedOut,
    /// The host left, or was lost.
    HostLeft,
}

impl CancelReason {
    pub(crate) fn of(reason: extension::CancelReason) -> CancelReason {
        match reason {
            extension::CancelReason::TIMED_OUT => CancelReason::TimedOut,
            extension::CancelReason::HOST_LEFT => CancelReason::HostLeft,
            _ => CancelReason::Cancelled,
        }
    }

    #[cfg(feature = "test-util")]
    pub(crate) fn as_raw(self) -> extension::CancelReason {
        match self {
            CancelReason::Cancelled => extension::CancelReason::CANCELLED,
            CancelReason::TimedOut => extension::CancelReason::TIMED_OUT,
            CancelReason::HostLeft => extension::CancelReason::HOST_LEFT,
        }
    }
}

impl fmt::Display for CancelReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CancelReason::Cancelled => "the host gave the command up",
            CancelReason::TimedOut => "the command's deadline passed",
            CancelReason::HostLeft => "the host left",
        })
    }
}

impl std::error::Error for CancelReason {}

impl From<CancelReason> for Error {
    fn from(reason: CancelReason) -> Error {
        Error::new(DocaError::SKIPPED, reason.to_string())
    }
}

/// Whether a command was cancelled, and whom that wakes.
#[derive(Debug, Default)]
pub(crate) struct Cancel {
    reason: Cell<Option<CancelReason>>,
    wakers: RefCell<Vec<Waker>>,
}

impl Cancel {
    /// Cancels; a second reason changes nothing.
    pub(crate) fn set(&self, reason: CancelReason) {
        if self.reason.get().is_none() {
            self.reason.set(Some(reason));
            // Taken first: waking runs code of others.
            self.wakers.take().into_iter().for_each(Waker::wake);
        }
    }

    pub(crate) fn poll(&self, waker: &Waker) -> Poll<CancelReason> {
        if let Some(reason) = self.reason.get() {
            return Poll::Ready(reason);
        }
        if !self.wakers.borrow().iter().any(|known| known.will_wake(waker)) {
            // Cloning a waker runs code of others.
            let waker = waker.clone();
            self.wakers.borrow_mut().push(waker);
        }
        Poll::Pending
    }
}
