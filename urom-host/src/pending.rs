//! The start or stop of a worker or a domain, as a future.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use urom_os::fork::Maker;

use crate::error::{Result, made_here};
use crate::wait;

/// A start or stop in progress: a future of the running worker or domain, or of an idle worker.
///
/// Several can be awaited together. Dropping a start stops the worker or domain again; the domain's
/// other processes then fail, at once or when their all-gather times out. Dropping a stop leaves it
/// to the engine, like dropping a [`Worker`](crate::Worker).
///
/// # Panics
/// When polled after it has resolved.
#[must_use = "dropping it cancels a start, and loses the result of a stop"]
pub struct Pending<T> {
    maker: Maker,
    change: Pin<Box<dyn Future<Output = Result<T>>>>,
}

impl<T> Pending<T> {
    pub(crate) fn new(change: impl Future<Output = Result<T>> + 'static) -> Pending<T> {
        Pending { maker: Maker::here(), change: Box::pin(change) }
    }

    /// Waits until it resolves, progressing all engines of this thread.
    ///
    /// # Errors
    /// As [`WorkerBuilder::start`](crate::WorkerBuilder::start),
    /// [`DomainBuilder::start`](crate::DomainBuilder::start) or
    /// [`Worker::stop`](crate::Worker::stop); `BAD_STATE` inside a completion callback.
    ///
    /// # Panics
    /// With the panic of a callback that ran meanwhile, or the domain's all-gather.
    pub fn wait(self) -> Result<T> {
        wait::run(self)
    }
}

impl<T> Future for Pending<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T>> {
        made_here(self.maker, || "waiting for a connection, a start or a stop")?;
        self.change.as_mut().poll(cx)
    }
}

debug_fields!(<T> Pending, |_| {});
