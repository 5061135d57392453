//! The receives of an instance, in the order in which they were posted.

use std::cell::Cell;

use rdma_protocol::Received;
use urom_pdk::{Window, prelude::*};

use crate::LIMITS;
use crate::failure::{Failure, violation};
use crate::pieces::Pieces;

pub(crate) struct Receives {
    window: Window<u64, Posted>,
    /// The number of the next receive.
    next: Cell<u64>,
    /// The number of the first receive without a message.
    first: Cell<u64>,
}

enum Posted {
    Waits(Pieces),
    Ended(Result<Received, Failure>),
}

impl Default for Receives {
    fn default() -> Receives {
        let window = Window::ordered(LIMITS.receives as usize);
        Receives { window, next: Cell::new(0), first: Cell::new(0) }
    }
}

impl Receives {
    /// Adds a receive, and returns its number.
    pub(crate) fn post(&self, places: Pieces) -> Result<u64> {
        let number = self.next.get();
        self.window.begin(number, Posted::Waits(places))?;
        self.next.set(number + 1);
        Ok(number)
    }

    /// The places of the first receive without a message.
    pub(crate) fn first(&self) -> Option<Pieces> {
        let places = |posted: &mut Posted| match posted {
            Posted::Waits(places) => Some(places.clone()),
            Posted::Ended(_) => None,
        };
        self.window.edit(self.first.get(), places).flatten()
    }

    /// Gives the first receive without a message one, and returns its number.
    pub(crate) fn take_first(&self) -> u64 {
        self.first.replace(self.first.get() + 1)
    }

    pub(crate) fn end(&self, number: u64, outcome: Result<Received, Failure>) {
        self.window.edit(number, |posted| *posted = Posted::Ended(outcome));
        self.window.finish(number);
    }

    /// Ends all that are not complete.
    pub(crate) fn fail(&self, failure: &Failure) {
        self.first.set(self.next.get());
        self.window.finish_all(|posted| {
            if matches!(posted, Posted::Waits(_)) {
                *posted = Posted::Ended(Err(failure.clone()));
            }
        });
    }

    /// The outcome of a receive, which goes on when this is dropped.
    pub(crate) async fn outcome(&self, number: u64) -> Result<Received> {
        match self.window.take(number).await {
            Posted::Ended(outcome) => Ok(outcome?),
            Posted::Waits(_) => Err(violation("no message")),
        }
    }
}
