//! The receives of an instance, in the order in which they were posted.

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

use rdma_protocol::{Opcode, Received};

use crate::LIMITS;
use crate::failure::Failure;
use crate::pieces::Pieces;

type ReceiveOutcome = Result<Received, Failure>;

#[derive(Debug, Default)]
pub(crate) struct Receives {
    /// The number of the first entry.
    base: u64,
    entries: VecDeque<Posted>,
    /// How many of the entries have a message, or ended.
    matched: usize,
}

#[derive(Debug)]
struct Posted {
    places: Pieces,
    waker: Option<Waker>,
    outcome: Option<ReceiveOutcome>,
    /// Nobody asks for the outcome any more ...
    is_taken: bool,
    /// ... because it was given.
    was_given: bool,
}

impl Receives {
    /// Adds a receive, and gives its number; `None` when there are as many as may be.
    pub(crate) fn post(&mut self, places: Pieces) -> Option<u64> {
        if self.entries.len() - self.matched >= LIMITS.receives as usize {
            return None;
        }
        let number = self.base + self.entries.len() as u64;
        let (waker, outcome, is_taken, was_given) = (None, None, false, false);
        self.entries.push_back(Posted { places, waker, outcome, is_taken, was_given });
        Some(number)
    }

    /// The first receive without a message, which gets one now.
    pub(crate) fn take_next(&mut self) -> Option<(u64, Pieces)> {
        let posted = self.entries.get(self.matched)?;
        let number = self.base + self.matched as u64;
        self.matched += 1;
        Some((number, posted.places.clone()))
    }

    /// The places of the first receive without a message.
    pub(crate) fn next_places(&self) -> Option<Pieces> {
        self.entries.get(self.matched).map(|posted| posted.places.clone())
    }

    /// Whether a receive waits for a message.
    pub(crate) fn is_ready(&self) -> bool {
        self.matched < self.entries.len()
    }

    pub(crate) fn complete(&mut self, number: u64, opcode: Opcode, immediate: [u8; 4], len: u64) {
        self.end(number, Ok(Received { opcode, immediate, len }));
    }

    pub(crate) fn end(&mut self, number: u64, outcome: ReceiveOutcome) {
        let index = number.checked_sub(self.base).and_then(|index| usize::try_from(index).ok());
        let Some(posted) = index.and_then(|index| self.entries.get_mut(index)) else { return };
        if posted.outcome.is_none() {
            posted.outcome = Some(outcome);
            posted.places = Pieces::default();
            posted.waker.take().into_iter().for_each(Waker::wake);
            self.drop_taken();
        }
    }

    /// Nobody waits for a receive any more. It stays in its place until it has a message.
    pub(crate) fn detach(&mut self, number: u64) {
        if let Some(posted) = self.entries.get_mut((number - self.base) as usize) {
            posted.is_taken = true;
            self.drop_taken();
        }
    }

    fn drop_taken(&mut self) {
        let is_over =
            |posted: &Posted| posted.is_taken && (posted.outcome.is_some() || posted.was_given);
        while self.entries.front().is_some_and(is_over) {
            self.entries.pop_front();
            self.base += 1;
            self.matched -= 1;
        }
    }

    /// Ends all that are not complete.
    pub(crate) fn fail(&mut self, failure: &Failure) {
        self.matched = self.entries.len();
        // Those that nobody asks for go meanwhile.
        for number in self.base..self.base + self.entries.len() as u64 {
            self.end(number, Err(failure.clone()));
        }
    }

    /// How a receive ended. Asked until it has.
    pub(crate) fn poll(&mut self, number: u64, cx: &Context<'_>) -> Poll<ReceiveOutcome> {
        let index = (number - self.base) as usize;
        let posted = &mut self.entries[index];
        let Some(outcome) = posted.outcome.take() else {
            posted.waker = Some(cx.waker().clone());
            return Poll::Pending;
        };
        (posted.is_taken, posted.was_given) = (true, true);
        self.drop_taken();
        Poll::Ready(outcome)
    }
}
