//! Waiting for the failure of an endpoint.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::EndpointState;
use crate::status::Status;

#[derive(Default)]
pub(super) struct FailureWaiters {
    wakers: RefCell<Vec<(u64, Waker)>>,
    last: Cell<u64>,
}

impl FailureWaiters {
    pub(super) fn wake(&self) {
        self.wakers.take().into_iter().for_each(|(_, waker)| waker.wake());
    }
}

/// The future of [`Endpoint::failed`](super::Endpoint::failed).
#[must_use = "futures do nothing unless polled"]
pub struct Failed<'a> {
    endpoint: &'a EndpointState,
    number: u64,
}

impl<'a> Failed<'a> {
    pub(super) fn new(endpoint: &'a EndpointState) -> Failed<'a> {
        let number = endpoint.waiting.last.get() + 1;
        endpoint.waiting.last.set(number);
        Failed { endpoint, number }
    }
}

impl Future for Failed<'_> {
    type Output = Status;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Status> {
        if let Some(status) = self.endpoint.failed.get() {
            return Poll::Ready(status);
        }
        let mut wakers = self.endpoint.waiting.wakers.borrow_mut();
        match wakers.iter_mut().find(|(number, _)| *number == self.number) {
            Some((_, waker)) => waker.clone_from(cx.waker()),
            None => wakers.push((self.number, cx.waker().clone())),
        }
        Poll::Pending
    }
}

impl Drop for Failed<'_> {
    fn drop(&mut self) {
        self.endpoint.waiting.wakers.borrow_mut().retain(|(number, _)| *number != self.number);
    }
}

debug_fields!(Failed<'_>, |it| { status: it.endpoint.failed.get() });
