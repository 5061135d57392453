//! A connection over UCX: frames from task memory or from the outbox, and unfinished sends.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use ucx::{AmFlags, CloseMode, Endpoint, Request, Status};
use urom_wire::envelope::{AM_COMMANDS, AM_HANDSHAKE, Envelope, MESSAGE_LEN};
use urom_wire::frame::{HEADER_LEN, Header};

use crate::memory::copy;
use crate::pe::run::task::{CmdTask, CmdTaskRef, InPlace};

/// Maximum commands per message. More do not improve throughput.
const MOST_TOGETHER: usize = 32;

pub(crate) struct UcxLink {
    endpoint: RefCell<Option<Endpoint>>,
    outbox: UcxOutbox,
    under_way: RefCell<VecDeque<UnderWay>>,
    busy: Cell<bool>,
}

enum UnderWay {
    Message(Request<OutboxMessage>),
    Command(Request<InPlace>),
}

impl UcxLink {
    /// Takes over the endpoint and sends the handshake with its own channel number.
    pub(crate) fn new(endpoint: Endpoint, envelope: Envelope) -> UcxLink {
        let handshake = envelope.channel.to_le_bytes();
        // If this fails, the endpoint reports the error.
        endpoint.am_send_with(AM_HANDSHAKE, &handshake, (), AmFlags::EAGER).detach();
        UcxLink {
            endpoint: RefCell::new(Some(endpoint)),
            outbox: UcxOutbox::new(envelope),
            under_way: RefCell::default(),
            busy: Cell::new(false),
        }
    }

    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.get()
    }

    /// Sends a long frame, or any frame if `now`, at once from the task's memory; batches others.
    #[inline]
    pub(crate) fn submit(&self, task: CmdTaskRef, header: Header, now: bool) -> Result<(), Status> {
        let (at_head, now) = (task.payload.is_at_head(), now && self.outbox.is_empty());
        if now && at_head {
            return self.send_in_place(task, header);
        }
        if at_head && travels_alone(task.payload.len()) || !self.append(&task, header) {
            return self.submit_behind(task, header, at_head);
        }
        if self.outbox.frames() >= MOST_TOGETHER {
            return self.flush();
        }
        self.busy.set(true);
        Ok(())
    }

    /// Sends the batch first, because the frame does not fit.
    #[cold]
    fn submit_behind(&self, task: CmdTaskRef, header: Header, at_head: bool) -> Result<(), Status> {
        self.flush()?;
        if at_head && travels_alone(task.payload.len()) {
            return self.send_in_place(task, header);
        }
        let appended = self.append(&task, header);
        debug_assert!(appended, "an empty message takes any frame");
        self.busy.set(true);
        Ok(())
    }

    #[inline]
    fn append(&self, task: &CmdTask, header: Header) -> bool {
        let append = |payload: &[u8]| match task.left.get() {
            0 => self.outbox.append(header, [], payload),
            left => self.outbox.append(header, left.to_le_bytes(), payload),
        };
        // SAFETY: this is the host's call to submit, so it does not write to the payload.
        unsafe { task.payload.with_data(append) }
    }

    /// Sends a frame at once, after all earlier ones.
    pub(crate) fn send(&self, header: Header, body: &[u8]) -> Result<(), Status> {
        if !self.outbox.append(header, [], body) {
            self.flush()?;
            let appended = self.outbox.append(header, [], body);
            debug_assert!(appended, "an empty message takes any frame");
        }
        self.flush()
    }

    #[inline(always)]
    fn send_in_place(&self, task: CmdTaskRef, header: Header) -> Result<(), Status> {
        let endpoint = self.endpoint.borrow();
        let endpoint = endpoint.as_ref().ok_or(Status::NOT_CONNECTED)?;
        let envelope = self.outbox.envelope;
        match endpoint.am_send_now(
            AM_COMMANDS,
            &[],
            InPlace::new(task, header, task.left.get(), envelope),
            AmFlags::EAGER,
        ) {
            Ok((result, in_place)) => {
                // It does not own resources, and the task is not marked as being read.
                std::mem::forget(in_place);
                result
            }
            Err(request) => {
                task.sending.set(true);
                self.goes_on(UnderWay::Command(request));
                Ok(())
            }
        }
    }

    #[inline(never)]
    fn flush(&self) -> Result<(), Status> {
        let Some(message) = self.outbox.take() else { return Ok(()) };
        let endpoint = self.endpoint.borrow();
        let endpoint = endpoint.as_ref().ok_or(Status::NOT_CONNECTED)?;
        match endpoint.am_send_now(AM_COMMANDS, &[], message, AmFlags::EAGER) {
            Ok((result, buffer)) => {
                self.outbox.recycle(buffer);
                result
            }
            Err(request) => {
                self.goes_on(UnderWay::Message(request));
                Ok(())
            }
        }
    }

    #[cold]
    fn goes_on(&self, send: UnderWay) {
        self.busy.set(true);
        self.under_way.borrow_mut().push_back(send);
    }

    pub(crate) fn tend(&self) -> Result<(), Status> {
        self.collect();
        let flushed = self.flush();
        self.busy.set(!self.outbox.is_empty() || !self.under_way.borrow().is_empty());
        flushed
    }

    /// Collects finished sends. Ignores their status: a failed send breaks the endpoint.
    fn collect(&self) {
        let mut under_way = self.under_way.borrow_mut();
        while let Some(send) = under_way.pop_front() {
            let unfinished = match send {
                UnderWay::Message(request) => match request.into_done() {
                    Ok((_, buffer)) => {
                        self.outbox.recycle(buffer);
                        continue;
                    }
                    Err(request) => UnderWay::Message(request),
                },
                UnderWay::Command(request) => match request.into_done() {
                    // The drop marks the task as sent.
                    Ok(_) => continue,
                    Err(request) => UnderWay::Command(request),
                },
            };
            under_way.push_front(unfinished);
            break;
        }
    }

    /// Closes the endpoint, drops queued frames. Then, or without `gracefully`, sends may be lost.
    pub(crate) fn close(&self, gracefully: bool) {
        let unfinished = self.outbox.take().is_some() | !self.under_way.take().is_empty();
        self.busy.set(false);
        if let Some(endpoint) = self.endpoint.borrow_mut().take() {
            let mode = if gracefully && !unfinished { CloseMode::Flush } else { CloseMode::Force };
            // The close continues in the background.
            endpoint.close(mode);
        }
    }
}

const SPARES: usize = 16;

struct UcxOutbox {
    envelope: Envelope,
    open: RefCell<OutboxMessage>,
    frames: Cell<usize>,
    spares: RefCell<Vec<OutboxMessage>>,
}

#[derive(Debug, Default)]
struct OutboxMessage {
    bytes: Box<[u8]>,
    len: usize,
}

// SAFETY: a box's bytes are on the heap, and the owner of a message in flight does not write to it.
unsafe impl ucx::Buffer for OutboxMessage {
    #[inline]
    fn start(&self) -> *const u8 {
        self.bytes.as_ptr()
    }

    #[inline]
    fn len(&self) -> usize {
        self.len
    }
}

impl UcxOutbox {
    fn new(envelope: Envelope) -> UcxOutbox {
        let (open, frames, spares) = (RefCell::default(), Cell::new(0), RefCell::default());
        UcxOutbox { envelope, open, frames, spares }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.frames() == 0
    }

    #[inline]
    fn frames(&self) -> usize {
        self.frames.get()
    }

    /// Appends a frame. False if the batch is full: send it first.
    #[inline]
    #[must_use]
    fn append<const AHEAD: usize>(
        &self,
        header: Header,
        ahead: [u8; AHEAD],
        payload: &[u8],
    ) -> bool {
        let mut open = self.open.borrow_mut();
        let OutboxMessage { bytes, len } = &mut *open;
        let end = *len + HEADER_LEN + AHEAD + payload.len();
        let parts = bytes.get_mut(*len..end).and_then(<[u8]>::split_first_chunk_mut);
        let parts = parts.and_then(|(first, behind)| {
            let (between, behind) = behind.split_first_chunk_mut()?;
            Some((first, between, behind))
        });
        match parts {
            Some((first, between, behind)) => {
                *first = header.word().to_le_bytes();
                *between = ahead;
                copy(payload, behind);
                *len = end;
                self.frames.set(self.frames.get() + 1);
                true
            }
            None => {
                drop(open);
                self.append_first(header, ahead, payload)
            }
        }
    }

    #[cold]
    fn append_first<const AHEAD: usize>(
        &self,
        header: Header,
        ahead: [u8; AHEAD],
        payload: &[u8],
    ) -> bool {
        if !self.is_empty() {
            return false;
        }
        let mut bytes = self.envelope.to_bytes().to_vec();
        let len = Envelope::LEN;
        bytes.resize(len + MESSAGE_LEN.max(HEADER_LEN + AHEAD + payload.len()), 0);
        *self.open.borrow_mut() = OutboxMessage { bytes: bytes.into(), len };
        self.append(header, ahead, payload)
    }

    #[inline]
    fn take(&self) -> Option<OutboxMessage> {
        if self.is_empty() {
            return None;
        }
        self.frames.set(0);
        let next = self.spares.borrow_mut().pop().unwrap_or_default();
        Some(self.open.replace(next))
    }

    #[inline]
    fn recycle(&self, mut message: OutboxMessage) {
        if message.bytes.len() > Envelope::LEN + MESSAGE_LEN {
            return;
        }
        message.len = Envelope::LEN;
        let mut open = self.open.borrow_mut();
        let mut spares = self.spares.borrow_mut();
        if open.bytes.is_empty() {
            *open = message;
        } else if spares.len() < SPARES {
            spares.push(message);
        }
    }
}

/// Whether a payload of this length is always sent alone.
#[inline]
fn travels_alone(len: usize) -> bool {
    HEADER_LEN + len > MESSAGE_LEN
}

#[cfg(test)]
mod tests {
    use super::*;
    use urom_wire::envelope::{VerificationTag, frames};
    use urom_wire::frame::CommandStart;

    const ENVELOPE: Envelope = Envelope { tag: VerificationTag::new(77), channel: 7 };

    fn append(outbox: &UcxOutbox, slot: u16, payload: &[u8]) -> bool {
        outbox.append(CommandStart::new(slot, 0).header(payload.len()), [], payload)
    }

    fn slots(message: &OutboxMessage) -> Vec<u16> {
        frames(&message.bytes[Envelope::LEN..message.len])
            .map(|frame| frame.unwrap().0.slot())
            .collect()
    }

    #[test]
    fn frames_leave_in_the_order_in_which_they_came() {
        let outbox = UcxOutbox::new(ENVELOPE);
        assert!(outbox.take().is_none());
        for slot in 0..100_u16 {
            assert!(append(&outbox, slot, &slot.to_le_bytes()));
            assert_eq!(outbox.frames(), usize::from(slot) + 1);
        }
        assert_eq!(slots(&outbox.take().unwrap()), (0..100).collect::<Vec<_>>());
        assert!(outbox.is_empty());
    }

    #[test]
    fn a_message_ends_where_the_next_frame_would_not_fit() {
        let outbox = UcxOutbox::new(ENVELOPE);
        let payload = [0; 992];
        let mut frames = 0;
        while append(&outbox, frames, &payload) {
            frames += 1;
        }
        assert_eq!(usize::from(frames), MESSAGE_LEN / 1000);
        assert!(outbox.take().unwrap().len <= Envelope::LEN + MESSAGE_LEN);
        assert!(
            !travels_alone(MESSAGE_LEN - HEADER_LEN) && travels_alone(MESSAGE_LEN - HEADER_LEN + 1)
        );
    }

    #[test]
    fn a_frame_that_travels_alone_fits_an_empty_message_only() {
        let outbox = UcxOutbox::new(ENVELOPE);
        let long = vec![7; 2 * MESSAGE_LEN];
        assert!(append(&outbox, 1, b"short"));
        assert!(!append(&outbox, 2, &long));
        let first = outbox.take().unwrap();
        assert!(append(&outbox, 2, &long) && !append(&outbox, 3, &[]));
        let second = outbox.take().unwrap();
        assert_eq!((slots(&first), slots(&second)), (vec![1], vec![2]));
    }

    #[test]
    fn every_message_begins_with_the_envelope_and_a_returned_buffer_carries_the_next() {
        let outbox = UcxOutbox::new(ENVELOPE);
        let long = vec![7; 2 * MESSAGE_LEN];
        let mut addresses = Vec::new();
        for payload in [&b"one"[..], b"two", &long, b"three"] {
            assert!(
                append(&outbox, 0, payload) && (payload == long || append(&outbox, 1, payload))
            );
            let message = outbox.take().unwrap();
            let (envelope, bytes) = Envelope::split(&message.bytes[..message.len]).unwrap();
            assert_eq!(envelope, ENVELOPE);
            assert!(frames(bytes).all(|frame| frame.unwrap().1 == payload));
            addresses.push(message.bytes.as_ptr());
            outbox.recycle(message);
        }
        assert_eq!(addresses[0], addresses[1]);
    }
}
