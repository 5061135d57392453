//! The start of a worker or a domain, as a future.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::error::Result;
use crate::wait;

/// A worker or a domain that is starting: a future of the running one.
///
/// The start has begun, so several can be awaited together. Dropping this stops the worker or
/// domain again. The other processes of a domain then fail, at once or when the time of their
/// all-gather is over.
///
/// # Panics
/// When it is polled after it has resolved.
#[must_use = "dropping it stops what has been started"]
pub struct Starting<T>(Pin<Box<dyn Future<Output = Result<T>>>>);

impl<T> Starting<T> {
    pub(crate) fn new(start: impl Future<Output = Result<T>> + 'static) -> Starting<T> {
        Starting(Box::pin(start))
    }

    /// Waits until it runs, progressing all engines of this thread.
    ///
    /// # Errors
    /// As [`WorkerBuilder::start`](crate::WorkerBuilder::start) or
    /// [`DomainBuilder::start`](crate::DomainBuilder::start); `BAD_STATE` inside a completion
    /// callback.
    ///
    /// # Panics
    /// With the panic of a callback that ran meanwhile, or of the domain's all-gather.
    pub fn wait(self) -> Result<T> {
        wait::run(self)
    }
}

impl<T> Future for Starting<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T>> {
        self.0.as_mut().poll(cx)
    }
}

debug_fields!(<T> Starting, |_| {});
