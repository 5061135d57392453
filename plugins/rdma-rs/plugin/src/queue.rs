//! The operations of the other end on an instance, in the order of their submission. They may arrive
//! in another order.

use std::collections::VecDeque;
use std::mem::take;

use urom_pdk::peers::PeerData;
use urom_pdk::prelude::*;

use crate::LIMITS;
use crate::message::{Kind, Request};
use crate::pieces::Pieces;

/// The most bytes that are kept because their operation has to wait.
const MOST_EARLY: usize = 32 << 20;

/// The most operations that run at a time.
const MOST_AT_A_TIME: usize = 64;

#[derive(Default)]
pub(crate) struct Queue {
    /// The number of the first entry.
    base: u64,
    entries: VecDeque<Option<Entry>>,
    early: usize,
}

pub(crate) struct Entry {
    pub(crate) request: Request,
    pub(crate) kind: Kind,
    /// Its memory, once it has started.
    pub(crate) memory: Pieces,
    /// The number of bytes that are not in their place.
    pub(crate) left: u64,
    pub(crate) has_started: bool,
    /// The receive that it completes.
    pub(crate) receive: Option<u64>,
    /// The value that it found, or why it failed.
    pub(crate) outcome: Result<u64>,
    /// The parts that came before it could start, with their offsets.
    early: Vec<(u64, PeerData)>,
}

impl Entry {
    fn new(request: Request, kind: Kind) -> Entry {
        let (memory, left, early) = (Pieces::default(), request.total, Vec::new());
        let (has_started, receive, outcome) = (false, None, Ok(0));
        Entry { request, kind, memory, left, has_started, receive, outcome, early }
    }

    fn is_over(&self) -> bool {
        self.has_started && (self.left == 0 || self.outcome.is_err())
    }
}

/// The memory that a part takes while it waits, in bytes.
fn cost((_, data): &(u64, PeerData)) -> usize {
    128 + if let PeerData::Here(bytes) = data { bytes.len() } else { 0 }
}

impl Queue {
    /// The entry of a request, which may be one of several parts; `None` for a request that cannot
    /// be.
    pub(crate) fn entry(&mut self, request: Request) -> Option<&mut Entry> {
        let index = request.number.checked_sub(self.base)?;
        // The other end may not have the answers to operations that are over here.
        if index >= 2 * u64::from(LIMITS.operations) || request.total > LIMITS.message {
            return None;
        }
        let (index, kind) = (index as usize, Kind::of(request.kind)?);
        if self.entries.len() <= index {
            self.entries.resize_with(index + 1, || None);
        }
        let entry = self.entries[index].get_or_insert_with(|| Entry::new(request, kind));
        (entry.kind == kind && entry.request.total == request.total).then_some(entry)
    }

    pub(crate) fn get(&mut self, number: u64) -> Option<&mut Entry> {
        let index = usize::try_from(number.checked_sub(self.base)?).ok()?;
        self.entries.get_mut(index)?.as_mut()
    }

    /// The next operation to start: all before it have started. Nothing behind a failure happens.
    pub(crate) fn next(&self) -> Option<&Entry> {
        for entry in &self.entries {
            match entry {
                Some(entry) if entry.outcome.is_err() => return None,
                Some(entry) if entry.has_started => {}
                entry => return entry.as_ref(),
            }
        }
        None
    }

    /// Whether an operation on this memory may start while those before it are not over.
    pub(crate) fn may_start(&self, number: u64, memory: &Pieces) -> bool {
        let before = self.entries.iter().take((number - self.base) as usize).flatten();
        let mut running = before.filter(|entry| !entry.is_over());
        running.by_ref().take(MOST_AT_A_TIME).all(|entry| !entry.memory.overlaps(memory))
            && running.next().is_none()
    }

    /// Keeps a part of an operation that has to wait. Whether there is room.
    pub(crate) fn keep(&mut self, number: u64, at: u64, data: PeerData) -> bool {
        let early = (at, data);
        self.early += cost(&early);
        if let Some(entry) = self.get(number) {
            entry.early.push(early);
        }
        self.early <= MOST_EARLY
    }

    /// Takes the parts that came before an operation started.
    pub(crate) fn take_early(&mut self, number: u64) -> Vec<(u64, PeerData)> {
        let early = self.get(number).map(|entry| take(&mut entry.early)).unwrap_or_default();
        self.early -= early.iter().map(cost).sum::<usize>();
        early
    }

    /// Takes the first operation, if it is over.
    pub(crate) fn pop(&mut self) -> Option<Entry> {
        self.entries.front()?.as_ref().filter(|first| first.is_over())?;
        self.base += 1;
        self.entries.pop_front()?
    }
}
