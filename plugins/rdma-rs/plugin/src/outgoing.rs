//! The operations that an instance asks of the other end, in the order in which they were
//! submitted. They are reported in that order, too.

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

use crate::LIMITS;
use crate::failure::Failure;
use crate::message::OperationKind;
use crate::pieces::Pieces;

type Outcome = Result<u64, Failure>;

#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    /// The number of the first entry.
    base: u64,
    entries: VecDeque<Operation>,
    /// How many of the entries were reported.
    reported: usize,
    /// The bytes that the other end may have to keep until it can start their operations.
    early: u64,
}

/// The most such bytes: half of what an instance keeps for the other end.
const MOST_EARLY: u64 = 16 << 20;

#[derive(Debug)]
struct Operation {
    kind: OperationKind,
    /// Where the bytes go that the other end answers with.
    places: Pieces,
    /// How many of these bytes have not arrived.
    left: u64,
    /// How many bytes were sent that the other end may have to keep.
    early: u64,
    /// What the other end answered.
    outcome: Option<Outcome>,
    waker: Option<Waker>,
    is_taken: bool,
}

impl Operation {
    fn is_complete(&self) -> bool {
        self.left == 0 && self.outcome.is_some() || matches!(self.outcome, Some(Err(_)))
    }
}

impl Outgoing {
    /// Adds an operation that `places` wait for, and gives its number; `None` when there are as
    /// many as may be.
    pub(crate) fn begin(&mut self, kind: OperationKind, places: Pieces) -> Option<u64> {
        if self.entries.len() - self.reported >= LIMITS.operations as usize {
            return None;
        }
        let left = if kind == OperationKind::Read { places.len() } else { 0 };
        let (outcome, waker, is_taken) = (None, None, false);
        // The bytes of a read are its answer.
        let outcome = if left > 0 { Some(Ok(0)) } else { outcome };
        let early = 0;
        self.entries.push_back(Operation { kind, places, left, early, outcome, waker, is_taken });
        Some(self.base + self.entries.len() as u64 - 1)
    }

    fn get(&mut self, number: u64) -> Option<&mut Operation> {
        let index = usize::try_from(number.checked_sub(self.base)?).ok()?;
        self.entries.get_mut(index).filter(|operation| !operation.is_complete())
    }

    /// Whether so many bytes of an operation may be sent at once. Otherwise they are announced, and
    /// stay here until the other end has a place for them.
    pub(crate) fn may_send(&mut self, number: u64, len: u64) -> bool {
        let fits = self.early + len <= MOST_EARLY;
        if fits && let Some(operation) = self.get(number) {
            operation.early += len;
            self.early += len;
        }
        fits
    }

    /// Where bytes go that arrived, if the operation waits for so many there.
    pub(crate) fn places(&mut self, number: u64, at: u64, len: u64) -> Option<Pieces> {
        let operation = self.get(number)?;
        let fits = at.checked_add(len).is_some_and(|end| end <= operation.places.len());
        (operation.kind == OperationKind::Read && fits && len <= operation.left)
            .then(|| operation.places.clone())
    }

    /// Where an atomic operation puts what it found.
    pub(crate) fn found_place(&mut self, number: u64) -> Option<Pieces> {
        let operation = self.get(number)?;
        operation.kind.is_atomic().then(|| operation.places.clone())
    }

    /// So many bytes are in their place.
    pub(crate) fn arrived(&mut self, number: u64, len: u64) {
        if let Some(operation) = self.get(number) {
            operation.left = operation.left.saturating_sub(len);
            self.report();
        }
    }

    /// The other end has answered. Whether something waited for that.
    pub(crate) fn answered(&mut self, number: u64, outcome: Outcome) -> bool {
        let Some(operation) = self.get(number) else { return false };
        operation.outcome = Some(outcome);
        let early = std::mem::take(&mut operation.early);
        self.early -= early;
        self.report();
        true
    }

    /// Whether an operation was reported.
    pub(crate) fn is_over(&self, number: u64) -> bool {
        number < self.base + self.reported as u64
    }

    fn report(&mut self) {
        while let Some(operation) = self.entries.get_mut(self.reported)
            && operation.is_complete()
        {
            operation.waker.take().into_iter().for_each(Waker::wake);
            self.reported += 1;
        }
        self.drop_taken();
    }

    /// Nobody waits for an operation any more. It stays in its place until it is over.
    pub(crate) fn detach(&mut self, number: u64) {
        if let Some(operation) = self.entries.get_mut((number - self.base) as usize) {
            operation.is_taken = true;
            self.drop_taken();
        }
    }

    /// Drops those that were reported and that nobody asks for.
    fn drop_taken(&mut self) {
        while self.reported > 0 && self.entries.front().is_some_and(|first| first.is_taken) {
            self.entries.pop_front();
            self.base += 1;
            self.reported -= 1;
        }
    }

    /// Ends all that were not reported: the first one that failed by its own failure.
    pub(crate) fn fail(&mut self, failure: &Failure) {
        let others = failure.of_others();
        for operation in self.entries.iter_mut().skip(self.reported) {
            let own = match operation.outcome.take() {
                Some(Err(own)) => own,
                _ => others.clone(),
            };
            operation.places = Pieces::default();
            operation.outcome = Some(Err(own));
        }
        self.report();
    }

    /// How an operation ended. Asked until it was reported.
    pub(crate) fn poll(&mut self, number: u64, cx: &Context<'_>) -> Poll<Outcome> {
        let index = (number - self.base) as usize;
        let operation = &mut self.entries[index];
        if index >= self.reported {
            operation.waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let outcome = operation.outcome.take().unwrap_or(Ok(0));
        operation.is_taken = true;
        operation.places = Pieces::default();
        self.drop_taken();
        Poll::Ready(outcome)
    }
}
