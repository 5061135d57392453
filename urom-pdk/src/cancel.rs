//! Commands for which nobody waits any more.

use std::cell::{Cell, OnceCell, RefCell};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use urom_abi::DocaError;
use urom_abi::extension;

use crate::Error;
use crate::pool::wakes_slot;

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
    /// Wakers that are not of the command's slot, which is polled anyway.
    wakers: OnceCell<Box<RefCell<Vec<Waker>>>>,
}

impl Cancel {
    /// Cancels; a second reason changes nothing. The command's slot is to be polled afterwards.
    pub(crate) fn set(&self, reason: CancelReason) {
        if self.reason.get().is_none() {
            self.reason.set(Some(reason));
            // Taken first: waking runs code of others.
            let wakers = self.wakers.get().map(|wakers| wakers.take());
            wakers.into_iter().flatten().for_each(Waker::wake);
        }
    }

    pub(crate) fn poll(&self, waker: &Waker) -> Poll<CancelReason> {
        if let Some(reason) = self.reason.get() {
            return Poll::Ready(reason);
        }
        if !wakes_slot(waker) {
            let wakers = self.wakers.get_or_init(Box::default);
            if !wakers.borrow().iter().any(|known| known.will_wake(waker)) {
                // Cloning a waker runs code of others.
                let waker = waker.clone();
                wakers.borrow_mut().push(waker);
            }
        }
        Poll::Pending
    }
}

/// What a future gives, or why its command was cancelled before.
///
/// Not an `async` block, because that would move the future once more for each command.
pub(crate) struct Unless<'a, F> {
    /// `None` after the command was cancelled.
    pub(crate) future: Option<F>,
    pub(crate) cancel: &'a Cancel,
}

impl<F: Future> Future for Unless<'_, F> {
    type Output = Result<F::Output, CancelReason>;

    #[inline]
    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let cancel = self.cancel;
        // SAFETY: `future` is pinned with this: nothing here moves it, there is no `Drop` that
        // could, and this is `Unpin` only where `future` is.
        let mut future = unsafe { self.map_unchecked_mut(|this| &mut this.future) };
        if let Some(future) = future.as_mut().as_pin_mut()
            && let Poll::Ready(value) = future.poll(task)
        {
            return Poll::Ready(Ok(value));
        }
        let reason = cancel.poll(task.waker());
        if reason.is_ready() {
            future.set(None);
        }
        reason.map(Err)
    }
}
