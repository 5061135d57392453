//! The other end's operations in submission order; they may arrive in another order.

use std::collections::VecDeque;
use std::mem::take;

use urom_pdk::peers::PeerData;
use urom_pdk::prelude::*;

use crate::LIMITS;
use crate::message::{Kind, PeerRequest};
use crate::pieces::Pieces;

/// Limit of bytes kept for operations that must wait.
const MOST_EARLY: usize = 32 << 20;

const MOST_AT_A_TIME: usize = 64;

#[derive(Default)]
pub(crate) struct OperationQueue {
    base: u64,
    entries: VecDeque<Option<QueueEntry>>,
    early: usize,
}

pub(crate) struct QueueEntry {
    pub(crate) request: PeerRequest,
    pub(crate) kind: Kind,
    pub(crate) memory: Pieces,
    pub(crate) left: u64,
    pub(crate) has_started: bool,
    pub(crate) receive: Option<u64>,
    /// The value before an atomic operation, or the error.
    pub(crate) outcome: Result<u64>,
    /// Parts that arrived before the operation could start, with their offsets.
    early: Vec<(u64, PeerData)>,
}

impl QueueEntry {
    fn new(request: PeerRequest, kind: Kind) -> QueueEntry {
        let (memory, left, early) = (Pieces::default(), request.total, Vec::new());
        let (has_started, receive, outcome) = (false, None, Ok(0));
        QueueEntry { request, kind, memory, left, has_started, receive, outcome, early }
    }

    fn is_over(&self) -> bool {
        self.has_started && (self.left == 0 || self.outcome.is_err())
    }
}

fn cost((_, data): &(u64, PeerData)) -> usize {
    128 + if let PeerData::Here(bytes) = data { bytes.len() } else { 0 }
}

impl OperationQueue {
    /// Returns the entry of a request or of one of its parts; `None` for an invalid request.
    pub(crate) fn entry(&mut self, request: PeerRequest) -> Option<&mut QueueEntry> {
        let index = request.number.checked_sub(self.base)?;
        // The other end may not yet have the answers to operations that are complete here.
        if index >= 2 * u64::from(LIMITS.operations) || request.total > LIMITS.message {
            return None;
        }
        let (index, kind) = (index as usize, Kind::of(request.kind)?);
        if self.entries.len() <= index {
            self.entries.resize_with(index + 1, || None);
        }
        let entry = self.entries[index].get_or_insert_with(|| QueueEntry::new(request, kind));
        (entry.kind == kind && entry.request.total == request.total).then_some(entry)
    }

    pub(crate) fn get(&mut self, number: u64) -> Option<&mut QueueEntry> {
        let index = usize::try_from(number.checked_sub(self.base)?).ok()?;
        self.entries.get_mut(index)?.as_mut()
    }

    /// Returns the next operation to start; `None` after a failure.
    pub(crate) fn next(&self) -> Option<&QueueEntry> {
        for entry in &self.entries {
            match entry {
                Some(entry) if entry.outcome.is_err() => return None,
                Some(entry) if entry.has_started => {}
                entry => return entry.as_ref(),
            }
        }
        None
    }

    /// Returns whether an operation on this memory may start before the earlier ones end.
    pub(crate) fn may_start(&self, number: u64, memory: &Pieces) -> bool {
        let before = self.entries.iter().take((number - self.base) as usize).flatten();
        let mut running = before.filter(|entry| !entry.is_over());
        running.by_ref().take(MOST_AT_A_TIME).all(|entry| !entry.memory.overlaps(memory))
            && running.next().is_none()
    }

    /// Keeps a part of a waiting operation; returns false if the limit is reached.
    pub(crate) fn keep(&mut self, number: u64, at: u64, data: PeerData) -> bool {
        let early = (at, data);
        self.early += cost(&early);
        if let Some(entry) = self.get(number) {
            entry.early.push(early);
        }
        self.early <= MOST_EARLY
    }

    pub(crate) fn take_early(&mut self, number: u64) -> Vec<(u64, PeerData)> {
        let early = self.get(number).map(|entry| take(&mut entry.early)).unwrap_or_default();
        self.early -= early.iter().map(cost).sum::<usize>();
        early
    }

    pub(crate) fn pop(&mut self) -> Option<QueueEntry> {
        self.entries.front()?.as_ref().filter(|first| first.is_over())?;
        self.base += 1;
        self.entries.pop_front()?
    }
}
