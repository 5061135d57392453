//! The operations that the other end asks of an instance, in the order in which that submitted
//! them. They may arrive in another.

use std::collections::VecDeque;

use ucx::Rendezvous;

use crate::LIMITS;
use crate::failure::Failure;
use crate::message::{OperationKind, Request};
use crate::pieces::Pieces;

/// The most bytes that are kept because their operation has to wait.
const MOST_EARLY: usize = 32 << 20;

/// The most operations that run at a time.
const MOST_AT_A_TIME: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Incoming {
    /// The number of the first entry.
    base: u64,
    entries: VecDeque<Option<IncomingEntry>>,
    early: usize,
}

#[derive(Debug)]
pub(crate) struct IncomingEntry {
    pub(crate) request: Request,
    pub(crate) kind: OperationKind,
    /// What its bytes go to, or come from; once it has started.
    pub(crate) memory: Pieces,
    /// How many bytes are not where they belong.
    pub(crate) left: u64,
    pub(crate) has_started: bool,
    /// The receive that it completes.
    pub(crate) receive: Option<u64>,
    /// What it found, or why it failed.
    pub(crate) outcome: Result<u64, Failure>,
    /// The lengths of the places of a read.
    pub(crate) lengths: Vec<u64>,
    /// What came before it could start.
    early: Vec<(u64, Early)>,
}

/// Bytes of an operation.
#[derive(Debug)]
pub(crate) enum Early {
    Bytes(Vec<u8>),
    Announced(Rendezvous),
}

impl Early {
    /// What it takes to keep this, in bytes.
    fn cost(&self) -> usize {
        const PART: usize = 128;
        match self {
            Early::Bytes(bytes) => PART + bytes.len(),
            Early::Announced(_) => PART,
        }
    }
}

impl IncomingEntry {
    fn new(request: Request, kind: OperationKind) -> IncomingEntry {
        IncomingEntry {
            request,
            kind,
            memory: Pieces::default(),
            left: request.total,
            has_started: false,
            receive: None,
            outcome: Ok(0),
            lengths: Vec::new(),
            early: Vec::new(),
        }
    }

    fn is_over(&self) -> bool {
        self.has_started && (self.left == 0 || self.outcome.is_err())
    }

    /// Ends the operation, without its bytes.
    pub(crate) fn fail(&mut self, failure: Failure) {
        self.has_started = true;
        self.outcome = Err(failure);
    }
}

impl Incoming {
    /// The entry of a request, which may be one of several parts; `None` when there cannot be such
    /// a request.
    pub(crate) fn entry(&mut self, request: Request) -> Option<&mut IncomingEntry> {
        let index = request.number.checked_sub(self.base)?;
        // What is over here may not be known to be over there.
        if index >= 2 * u64::from(LIMITS.operations) || request.total > LIMITS.message {
            return None;
        }
        let (index, kind) = (index as usize, OperationKind::of(request.kind)?);
        if self.entries.len() <= index {
            self.entries.resize_with(index + 1, || None);
        }
        let entry = self.entries[index].get_or_insert_with(|| IncomingEntry::new(request, kind));
        (entry.kind == kind && entry.request.total == request.total).then_some(entry)
    }

    pub(crate) fn get(&mut self, number: u64) -> Option<&mut IncomingEntry> {
        let index = usize::try_from(number.checked_sub(self.base)?).ok()?;
        self.entries.get_mut(index)?.as_mut()
    }

    /// The next operation that is to be started: all before it have started.
    pub(crate) fn next(&mut self) -> Option<(u64, &mut IncomingEntry)> {
        let waits =
            |entry: &Option<IncomingEntry>| !entry.as_ref().is_some_and(|entry| entry.has_started);
        let index = self.entries.iter().position(waits)?;
        // Nothing behind a failure happens.
        if self.entries.iter().take(index).flatten().any(|entry| entry.outcome.is_err()) {
            return None;
        }
        Some((self.base + index as u64, self.entries[index].as_mut()?))
    }

    /// Whether an operation on this memory may start while those before it are not over.
    pub(crate) fn may_start(&self, number: u64, memory: &Pieces) -> bool {
        let before = self.entries.iter().take((number - self.base) as usize).flatten();
        let mut running = before.filter(|entry| !entry.is_over());
        running.by_ref().take(MOST_AT_A_TIME).all(|entry| !entry.memory.overlaps(memory))
            && running.next().is_none()
    }

    /// Keeps what belongs to an operation that has to wait. Whether there is room.
    pub(crate) fn keep(&mut self, number: u64, at: u64, early: Early) -> bool {
        self.early += early.cost();
        let fits = self.early <= MOST_EARLY;
        if let Some(entry) = self.get(number) {
            entry.early.push((at, early));
        }
        fits
    }

    /// Takes what came before an operation started.
    pub(crate) fn take_early(&mut self, number: u64) -> Vec<(u64, Early)> {
        let early = self.get(number).map(|entry| std::mem::take(&mut entry.early));
        let early = early.unwrap_or_default();
        self.early -= early.iter().map(|(_, early)| early.cost()).sum::<usize>();
        early
    }

    /// Takes the first operation, if it is over.
    pub(crate) fn pop(&mut self) -> Option<(u64, IncomingEntry)> {
        let front = self.entries.front()?;
        if !front.as_ref().is_some_and(IncomingEntry::is_over) {
            return None;
        }
        let entry = self.entries.pop_front()??;
        self.base += 1;
        Some((self.base - 1, entry))
    }
}
