//! Cancelled commands.

use std::cell::{Cell, OnceCell, RefCell};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use urom_abi::DocaError;
use urom_abi::extension;

use crate::Error;
use crate::guard::catch;
use crate::waker::wakes_slot;

/// Why a command was [cancelled](crate::Context::cancelled). As an error its code is `SKIPPED`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CancelReason {
    /// The host program cancelled the command.
    Cancelled,
    /// The command's deadline passed.
    TimedOut,
    /// The host disconnected or was lost.
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
            CancelReason::Cancelled => "the host cancelled the command",
            CancelReason::TimedOut => "the command's deadline passed",
            CancelReason::HostLeft => "the host left",
        })
    }
}

impl std::error::Error for CancelReason {}

impl From<CancelReason> for Error {
    fn from(reason: CancelReason) -> Error {
        Error::new(DocaError::SKIPPED, "it was cancelled").with_source(reason)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Cancel {
    reason: Cell<Option<CancelReason>>,
    /// Waits with wakers of other tasks: the command's slot is polled anyway.
    waits: OnceCell<Box<CancelWakers>>,
}

#[derive(Debug, Default)]
struct CancelWakers {
    wakers: RefCell<Vec<(u64, Waker)>>,
    last: Cell<u64>,
}

impl Cancel {
    /// Cancels; a second reason changes nothing. The caller then polls the command's slot.
    pub(crate) fn set(&self, reason: CancelReason) {
        if self.reason.get().is_some() {
            return;
        }
        self.reason.set(Some(reason));
        let wakers = self.waits.get().map(|waits| waits.wakers.take());
        // Waking runs foreign code.
        for (_, waker) in wakers.into_iter().flatten() {
            catch("waking a handler's future", || waker.wake());
        }
    }

    #[inline]
    pub(crate) fn end(self) {
        if self.waits.get().is_some() {
            catch("dropping a waker", || drop(self));
        }
    }

    pub(crate) fn cancelled(&self) -> CancelWait<'_> {
        CancelWait { cancel: self, number: 0 }
    }
}

impl CancelWakers {
    /// Stores a wait's waker and numbers the wait. Wakers run foreign code: not during a borrow.
    fn note(&self, number: &mut u64, waker: &Waker) {
        let is_it = |(of, known): &(u64, Waker)| *of == *number && known.will_wake(waker);
        if self.wakers.borrow().iter().any(is_it) {
            return;
        }
        let waker = waker.clone();
        self.forget(*number);
        *number = self.last.get() + 1;
        self.last.set(*number);
        self.wakers.borrow_mut().push((*number, waker));
    }

    fn forget(&self, number: u64) {
        let mut wakers = self.wakers.borrow_mut();
        let found = wakers.iter().position(|(of, _)| *of == number);
        let forgotten = found.map(|at| wakers.swap_remove(at));
        drop(wakers);
        drop(forgotten);
    }
}

#[derive(Debug)]
pub(crate) struct CancelWait<'a> {
    cancel: &'a Cancel,
    number: u64,
}

impl Future for CancelWait<'_> {
    type Output = CancelReason;

    #[inline]
    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<CancelReason> {
        let CancelWait { cancel, number } = self.get_mut();
        if let Some(reason) = cancel.reason.get() {
            return Poll::Ready(reason);
        }
        if !wakes_slot(task.waker()) {
            cancel.waits.get_or_init(Box::default).note(number, task.waker());
        }
        Poll::Pending
    }
}

impl Drop for CancelWait<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.number != 0
            && let Some(waits) = self.cancel.waits.get()
        {
            waits.forget(self.number);
        }
    }
}

/// An `async` block would move the future once more for each command.
pub(crate) struct UnlessCancelled<'a, F> {
    future: Option<F>,
    cancelled: CancelWait<'a>,
}

impl<'a, F> UnlessCancelled<'a, F> {
    #[inline]
    pub(crate) fn new(future: F, cancel: &'a Cancel) -> UnlessCancelled<'a, F> {
        UnlessCancelled { future: Some(future), cancelled: cancel.cancelled() }
    }
}

impl<F: Future> Future for UnlessCancelled<'_, F> {
    type Output = Result<F::Output, CancelReason>;

    #[inline]
    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: only `future` is structurally pinned: it is never moved, this type does not
        // implement `Drop`, and it is `Unpin` only if `future` is.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: it is pinned with this.
        let mut future = unsafe { Pin::new_unchecked(&mut this.future) };
        if let Some(future) = future.as_mut().as_pin_mut()
            && let Poll::Ready(value) = future.poll(task)
        {
            return Poll::Ready(Ok(value));
        }
        let reason = Pin::new(&mut this.cancelled).poll(task);
        if reason.is_ready() {
            future.set(None);
        }
        reason.map(Err)
    }
}
