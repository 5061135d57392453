//! The outgoing message of a connection: frames that travel together.

use std::cell::{Cell, RefCell};

use urom_wire::frame::{HEADER_LEN, MESSAGE_LEN};
use urom_wire::pass::Pass;

use crate::memory::copy;

const SPARES: usize = 16;

/// Frames that wait to be sent, and buffers to be used again.
#[derive(Default)]
pub(super) struct Outbox {
    pass: Cell<Pass>,
    open: RefCell<Message>,
    frames: Cell<usize>,
    spares: RefCell<Vec<Message>>,
}

/// Frames in a buffer that is longer.
#[derive(Debug, Default)]
pub(super) struct Message {
    bytes: Box<[u8]>,
    len: usize,
}

// SAFETY: a box's bytes are on the heap, and whoever has a message that is sent does not write to
// it.
unsafe impl ucx::Buffer for Message {
    #[inline]
    fn start(&self) -> *const u8 {
        self.bytes.as_ptr()
    }

    #[inline]
    fn len(&self) -> usize {
        self.len
    }
}

impl Outbox {
    /// Sets the pass of messages, before the first.
    pub(super) fn begin_with(&self, pass: Pass) {
        debug_assert!(self.is_empty() && self.open.borrow().bytes.is_empty());
        self.pass.set(pass);
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.frames() == 0
    }

    #[inline]
    pub(super) fn frames(&self) -> usize {
        self.frames.get()
    }

    /// Adds a frame behind those that wait. False when it does not fit: send them first.
    #[inline]
    #[must_use]
    pub(super) fn append(&self, header: [u8; HEADER_LEN], payload: &[u8]) -> bool {
        let mut open = self.open.borrow_mut();
        let Message { bytes, len } = &mut *open;
        let end = *len + HEADER_LEN + payload.len();
        let place = bytes.get_mut(*len..end).and_then(<[u8]>::split_first_chunk_mut);
        match place {
            Some((place, behind)) => {
                *place = header;
                copy(payload, behind);
                *len = end;
                self.frames.set(self.frames.get() + 1);
                true
            }
            None => {
                drop(open);
                self.append_first(header, payload)
            }
        }
    }

    /// The same where there is no room, or no memory yet.
    #[cold]
    fn append_first(&self, header: [u8; HEADER_LEN], payload: &[u8]) -> bool {
        if !self.is_empty() {
            return false;
        }
        let mut bytes = self.pass.get().as_bytes().to_vec();
        let len = Pass::LEN;
        bytes.resize(len + MESSAGE_LEN.max(HEADER_LEN + payload.len()), 0);
        *self.open.borrow_mut() = Message { bytes: bytes.into(), len };
        self.append(header, payload)
    }

    #[inline]
    pub(super) fn take(&self) -> Option<Message> {
        if self.is_empty() {
            return None;
        }
        self.frames.set(0);
        let next = self.spares.borrow_mut().pop().unwrap_or_default();
        Some(self.open.replace(next))
    }

    #[inline]
    pub(super) fn recycle(&self, mut message: Message) {
        if message.bytes.len() > Pass::LEN + MESSAGE_LEN {
            return;
        }
        message.len = Pass::LEN;
        let mut open = self.open.borrow_mut();
        let mut spares = self.spares.borrow_mut();
        if open.bytes.is_empty() {
            *open = message;
        } else if spares.len() < SPARES {
            spares.push(message);
        }
    }
}

/// Whether a payload of this length always travels alone.
#[inline]
pub(super) fn travels_alone(len: usize) -> bool {
    HEADER_LEN + len > MESSAGE_LEN
}

#[cfg(test)]
mod tests {
    use super::*;
    use urom_wire::frame::{command_header, commands};

    fn append(outbox: &Outbox, slot: u16, payload: &[u8]) -> bool {
        outbox.append(command_header(1, slot, 0, payload.len()), payload)
    }

    fn slots(message: &Message) -> Vec<u16> {
        commands(&message.bytes[Pass::LEN..message.len])
            .map(|command| command.unwrap().slot)
            .collect()
    }

    #[test]
    fn frames_leave_in_the_order_in_which_they_came() {
        let outbox = Outbox::default();
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
        let outbox = Outbox::default();
        let payload = [0; 992];
        let mut frames = 0;
        while append(&outbox, frames, &payload) {
            frames += 1;
        }
        assert_eq!(usize::from(frames), MESSAGE_LEN / 1000);
        assert!(outbox.take().unwrap().len <= Pass::LEN + MESSAGE_LEN);
        assert!(
            !travels_alone(MESSAGE_LEN - HEADER_LEN) && travels_alone(MESSAGE_LEN - HEADER_LEN + 1)
        );
    }

    #[test]
    fn a_frame_that_travels_alone_fits_an_empty_message_only() {
        let outbox = Outbox::default();
        let long = vec![7; 2 * MESSAGE_LEN];
        assert!(append(&outbox, 1, b"short"));
        assert!(!append(&outbox, 2, &long));
        let first = outbox.take().unwrap();
        assert!(append(&outbox, 2, &long) && !append(&outbox, 3, &[]));
        let second = outbox.take().unwrap();
        assert_eq!((slots(&first), slots(&second)), (vec![1], vec![2]));
    }

    #[test]
    fn every_message_begins_with_the_pass_and_a_returned_buffer_carries_the_next() {
        let (outbox, pass) = (Outbox::default(), Pass::new(77));
        outbox.begin_with(pass);
        let long = vec![7; 2 * MESSAGE_LEN];
        let mut places = Vec::new();
        for payload in [&b"one"[..], b"two", &long, b"three"] {
            assert!(
                append(&outbox, 0, payload) && (payload == long || append(&outbox, 1, payload))
            );
            let message = outbox.take().unwrap();
            let (begins_with, frames) = Pass::split(&message.bytes[..message.len]).unwrap();
            assert_eq!(begins_with, pass);
            assert!(commands(frames).all(|command| command.unwrap().payload == payload));
            places.push(message.bytes.as_ptr());
            outbox.recycle(message);
        }
        assert_eq!(places[0], places[1]);
    }
}
