//! One host: its commands in flight, their deadlines and failure reasons, and its outbox.

use std::cell::{Cell, RefCell};

use rustc_hash::FxHashMap;
use ucx::Status;
use urom_abi::DocaStatus;
use urom_abi::extension::LONGEST_FAILURE;
use urom_wire::control::cut;
use urom_wire::envelope::VerificationTag;
use urom_wire::frame::{LONG_STATUS_LEN, LongStatus, MAX_BODY, NOTIFICATION_HEADER};
use urom_wire::ring::RingReader;
use urom_wire::trace::LONGEST_TRACE;

use super::ends::ShareEnds;
use super::outbox::HostOutbox;
use super::traces::Traces;
use crate::host_names::HostName;
use crate::metrics::RowKey;
use crate::worker::messages::LinkKey;

/// An admitted host. It belongs to the data thread.
#[derive(Debug)]
pub(crate) struct HostEntry {
    pub(crate) link: LinkKey,
    /// The host's number in this worker's table and in UCX messages.
    pub(crate) channel: u16,
    /// The host's number for plugins; unique in a worker's life.
    pub(crate) dest_id: u64,
    pub(crate) name: HostName,
    /// In bytes, for messages.
    pub(crate) limit: usize,
    pub(crate) tag: VerificationTag,
    slots: Box<[TaskSlot]>,
    /// Plugins' failure reasons for commands in flight: by slot, with the command's generation.
    reasons: RefCell<FxHashMap<u16, (u32, String)>>,
    pub(crate) inbox: RefCell<Option<RingReader>>,
    pub(super) outbox: RefCell<HostOutbox>,
    /// Bytes of messages that came over UCX.
    pub(crate) messages: Cell<u64>,
    /// Its connection ends with this turn, and it gets no more frames.
    pub(super) is_lost: Cell<bool>,
    pub(super) is_waiting: Cell<bool>,
    pub(super) ends: ShareEnds,
    pub(crate) traces: Traces,
}

#[derive(Debug)]
struct TaskSlot {
    /// Counts the slot's commands, to detect late answers.
    generation: Cell<u32>,
    /// Index of the plugin that has the command, or [`FREE`].
    plugin: Cell<u32>,
    /// Deadline in nanoseconds of `CLOCK_MONOTONIC`; 0 without one.
    deadline: Cell<u64>,
    /// Set for commands that do not end within their call: the receipt, like `deadline`, and the
    /// row of its counters.
    began: Cell<u64>,
    row: Cell<RowKey>,
}

const FREE: u32 = u32::MAX;

/// A trace and its length.
const LONGEST_TRACE_END: usize = LONGEST_TRACE + 2;

/// Identifies a command: `urom_context` of its descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TaskToken {
    pub(crate) channel: u16,
    pub(crate) slot: u16,
    pub(super) generation: u32,
}

impl TaskToken {
    #[inline]
    pub(crate) fn pack(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.slot) << 16 | u64::from(self.channel)
    }

    #[inline]
    pub(crate) fn unpack(token: u64) -> TaskToken {
        TaskToken {
            channel: token as u16,
            slot: (token >> 16) as u16,
            generation: (token >> 32) as u32,
        }
    }
}

pub(crate) struct TaskAnswer<'a> {
    pub(crate) slot: u16,
    pub(crate) status: DocaStatus,
    pub(crate) payload: Option<usize>,
    pub(crate) why: &'a str,
}

impl HostEntry {
    pub(crate) fn new(
        (link, channel, dest_id): (LinkKey, u16, u64),
        name: &str,
        tag: VerificationTag,
        limit: usize,
        max_inflight: usize,
    ) -> HostEntry {
        let slot = || TaskSlot {
            generation: Cell::new(0),
            plugin: Cell::new(FREE),
            deadline: Cell::new(0),
            began: Cell::new(0),
            row: Cell::default(),
        };
        HostEntry {
            link,
            channel,
            dest_id,
            name: HostName::new(dest_id, name),
            limit,
            tag,
            slots: std::iter::repeat_with(slot).take(max_inflight).collect(),
            reasons: RefCell::default(),
            inbox: RefCell::default(),
            outbox: RefCell::new(HostOutbox::Unknown),
            messages: Cell::new(0),
            is_lost: Cell::new(false),
            is_waiting: Cell::new(false),
            ends: ShareEnds::default(),
            traces: Traces::default(),
        }
    }

    #[inline]
    pub(crate) fn longest(&self) -> usize {
        self.limit.saturating_sub(NOTIFICATION_HEADER)
    }

    /// Takes a slot for a command; `None` if the host [must not](HostEntry::misuse) use it.
    #[inline]
    pub(crate) fn occupy(&self, slot: u16, index: u8) -> Option<TaskToken> {
        let state = self.slots.get(usize::from(slot))?;
        if state.plugin.get() != FREE {
            return None;
        }
        let generation = state.generation.get().wrapping_add(1);
        state.generation.set(generation);
        state.plugin.set(index.into());
        Some(TaskToken { channel: self.channel, slot, generation })
    }

    pub(crate) fn is_free(&self, slot: u16) -> bool {
        self.slots.get(usize::from(slot)).is_some_and(|state| state.plugin.get() == FREE)
    }

    #[cold]
    pub(crate) fn misuse(&self, slot: u16) -> String {
        match self.slots.get(usize::from(slot)) {
            None => format!("task slot {slot} is beyond the {} it asked for", self.slots.len()),
            Some(_) => format!("task slot {slot} already has a command in flight"),
        }
    }

    /// Frees a slot when the plugin at `index` answers. Returns whether the command was in flight.
    #[inline]
    pub(crate) fn vacate(&self, token: TaskToken, index: usize) -> bool {
        let is_it = |state: &&TaskSlot| {
            state.generation.get() == token.generation && state.plugin.get() as usize == index
        };
        let slot = self.slots.get(usize::from(token.slot)).filter(is_it);
        slot.inspect(|state| state.free()).is_some()
    }

    #[inline]
    pub(crate) fn free(&self, slot: u16) {
        self.slots.get(usize::from(slot)).inspect(|state| state.free());
    }

    pub(crate) fn at(&self, slot: u16) -> Option<(TaskToken, u8)> {
        let state = self.slots.get(usize::from(slot))?;
        let index = u8::try_from(state.plugin.get()).ok()?;
        Some((TaskToken { channel: self.channel, slot, generation: state.generation.get() }, index))
    }

    pub(crate) fn in_flight(&self) -> impl Iterator<Item = (TaskToken, u8)> {
        (0..self.slots.len()).filter_map(|slot| self.at(slot as u16))
    }

    /// Returns the token of a slot's last command.
    pub(super) fn last_token(&self, slot: u16) -> u64 {
        let state = self.slots.get(usize::from(slot));
        let generation = state.map_or(0, |state| state.generation.get());
        TaskToken { channel: self.channel, slot, generation }.pack()
    }

    pub(super) fn begun(&self, slot: u16, row: RowKey, began: u64) {
        if let Some(state) = self.slots.get(usize::from(slot)) {
            state.row.set(row);
            state.began.set(began);
        }
    }

    /// Returns the row and the receipt of a slot's last command that did not end within its call.
    pub(super) fn beginning(&self, slot: u16) -> (RowKey, u64) {
        let state = self.slots.get(usize::from(slot));
        state.map_or_else(Default::default, |state| (state.row.get(), state.began.get()))
    }

    /// Returns the bytes that were received and sent, with headers.
    pub(super) fn traffic(&self) -> (u64, u64) {
        let inbox = self.inbox.borrow();
        let received = inbox.as_ref().map_or(0, RingReader::bytes) + self.messages.get();
        (received, self.outbox.borrow().sent())
    }

    fn slot_of(&self, token: u64) -> Option<&TaskSlot> {
        let TaskToken { slot, generation, .. } = TaskToken::unpack(token);
        self.slots.get(usize::from(slot)).filter(|state| state.generation.get() == generation)
    }

    pub(crate) fn set_deadline(&self, slot: u16, at: u64) {
        self.slots.get(usize::from(slot)).inspect(|state| state.deadline.set(at));
    }

    pub(crate) fn deadline(&self, token: u64) -> u64 {
        self.slot_of(token).map_or(0, |state| state.deadline.get())
    }

    pub(crate) fn explain(&self, token: u64, why: String) {
        if self.slot_of(token).is_some_and(|state| state.plugin.get() != FREE) {
            let TaskToken { slot, generation, .. } = TaskToken::unpack(token);
            self.reasons.borrow_mut().insert(slot, (generation, why));
        }
    }

    pub(crate) fn reason(&self, token: TaskToken) -> String {
        let reason = self.reasons.borrow_mut().remove(&token.slot);
        let reason = reason.filter(|(generation, _)| *generation == token.generation);
        reason.map_or_else(String::new, |(_, why)| why)
    }

    /// Sends an answer whose payload is in `draft`, and a trace; see [`HostOutbox::send`].
    #[cold]
    pub(super) fn send_long(
        &self,
        draft: &mut FrameDraft,
        answer: &TaskAnswer<'_>,
        trace: Option<&[u8]>,
    ) -> Result<bool, Status> {
        let TaskAnswer { slot, status, payload, why } = *answer;
        let len = payload.unwrap_or(0);
        // A frame's length has 24 bits.
        let most = MAX_BODY.saturating_sub(len + LONG_STATUS_LEN + LONGEST_TRACE_END);
        let trace = trace.filter(|_| most > 0);
        let why = cut(why, LONGEST_FAILURE.min(most));
        let long = LongStatus {
            slot,
            status,
            payload,
            why: why.len() as u16,
            trace: trace.map(|trace| trace.len() as u16),
        };
        let (header, before) = long.to_bytes();
        let len_of = |trace: &[u8]| (trace.len() as u16).to_le_bytes();
        let trace = trace.map_or_else(Vec::new, |trace| [trace, &len_of(trace)].concat());
        self.outbox.borrow_mut().send(header, draft.with(before, len, why, &trace))
    }
}

impl TaskSlot {
    #[inline]
    fn free(&self) {
        self.plugin.set(FREE);
        self.deadline.set(0);
    }
}

/// Buffer for plugins' answers to all hosts of a worker.
#[derive(Debug)]
pub(crate) struct FrameDraft(Box<[u8]>);

impl FrameDraft {
    pub(crate) fn new(limit: usize) -> FrameDraft {
        // Zeroed memory from the system is not touched before use.
        let behind = LONGEST_FAILURE + LONGEST_TRACE_END;
        FrameDraft(vec![0; NOTIFICATION_HEADER + limit + behind].into())
    }

    /// Returns the buffer for DOCA's header and the payload, which `notif_pack` writes.
    #[inline]
    pub(crate) fn notification(&mut self, limit: usize) -> &mut [u8] {
        &mut self.0[..limit]
    }

    #[inline]
    pub(crate) fn payload(&mut self, len: usize) -> &mut [u8] {
        &mut self.0[NOTIFICATION_HEADER..][..len]
    }

    /// Returns a payload of `len` bytes between a header, and a text and a trace.
    fn with(
        &mut self,
        before: [u8; LONG_STATUS_LEN],
        len: usize,
        text: &str,
        trace: &[u8],
    ) -> &[u8] {
        let end = NOTIFICATION_HEADER + len;
        self.0[NOTIFICATION_HEADER - LONG_STATUS_LEN..][..LONG_STATUS_LEN].copy_from_slice(&before);
        let (to_text, behind) = self.0[end..].split_at_mut(text.len());
        to_text.copy_from_slice(text.as_bytes());
        behind[..trace.len()].copy_from_slice(trace);
        &self.0[NOTIFICATION_HEADER - LONG_STATUS_LEN..end + text.len() + trace.len()]
    }
}
