//! The receives of an instance, in the order of their posts.

use std::cell::Cell;

use rdma_protocol::ReceiveDone;
use urom_pdk::{Window, prelude::*};

use crate::LIMITS;
use crate::pieces::Pieces;

pub(crate) struct PostedReceives {
    window: Window<u64, (Pieces, Result<ReceiveDone>)>,
    next: Cell<u64>,
    first: Cell<u64>,
}

impl PostedReceives {
    pub(crate) fn new() -> PostedReceives {
        // Matched receives, until their outcomes are taken, exceed the limit.
        let window = Window::ordered(usize::MAX);
        PostedReceives { window, next: Cell::new(0), first: Cell::new(0) }
    }

    pub(crate) fn post(&self, destination: Pieces) -> Result<u64> {
        let number = self.next.get();
        let is_free = number - self.first.get() < LIMITS.receives.into();
        ensure!(is_free, DocaError::FULL, "the receive queue is full: see the limits");
        self.window.begin(number, (destination, Err(DocaError::IN_PROGRESS.into())))?;
        self.next.set(number + 1);
        Ok(number)
    }

    pub(crate) fn first(&self) -> Option<Pieces> {
        self.window.edit(self.first.get(), |(destination, _)| destination.clone())
    }

    /// Assigns a message to the first receive without one, and returns its number.
    pub(crate) fn take_first(&self) -> u64 {
        self.first.replace(self.first.get() + 1)
    }

    pub(crate) fn end(&self, number: u64, outcome: Result<ReceiveDone>) {
        self.window.edit(number, |posted| *posted = (Pieces::default(), outcome));
        self.window.finish(number);
    }

    pub(crate) fn fail(&self, error: &Error) {
        self.first.set(self.next.get());
        self.window.finish_all(|posted| *posted = (Pieces::default(), Err(error.clone())));
    }

    /// Returns the outcome of a receive; dropping the future does not stop the receive.
    pub(crate) async fn outcome(&self, number: u64) -> Result<ReceiveDone> {
        self.window.take(number).await.1
    }
}
