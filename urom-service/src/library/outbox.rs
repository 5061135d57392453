//! The outgoing message of a connection: frames that travel together.

use crate::wire::frame::{HEADER_LEN, MESSAGE_LEN};

/// How many used buffers are kept.
const SPARES: usize = 16;

/// Frames that wait to be sent, and buffers to be used again.
#[derive(Default)]
pub(super) struct Outbox {
    open: Vec<u8>,
    spares: Vec<Vec<u8>>,
}

impl Outbox {
    /// Whether no frame waits.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether a frame with a payload of `len` bytes may join those that wait. When not, send them first.
    pub(super) fn has_room(&self, len: usize) -> bool {
        self.open.len() + HEADER_LEN + len <= MESSAGE_LEN
    }

    /// Adds a frame behind those that wait.
    pub(super) fn append(&mut self, header: &[u8; HEADER_LEN], payload: &[u8]) {
        if self.open.capacity() == 0 {
            self.open.reserve_exact(MESSAGE_LEN);
        }
        self.open.extend_from_slice(header);
        self.open.extend_from_slice(payload);
    }

    /// Takes the message out, if there is one.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        if self.open.is_empty() {
            return None;
        }
        let next = self.spares.pop().unwrap_or_default();
        Some(std::mem::replace(&mut self.open, next))
    }

    /// Gives a buffer back once its message is sent.
    pub(super) fn recycle(&mut self, mut buffer: Vec<u8>) {
        if self.spares.len() < SPARES && buffer.capacity() <= 2 * MESSAGE_LEN {
            buffer.clear();
            self.spares.push(buffer);
        }
    }
}

/// Whether a payload of this length always travels alone.
pub(super) fn travels_alone(len: usize) -> bool {
    HEADER_LEN + len > MESSAGE_LEN
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::frame::{command_header, commands};

    fn append(outbox: &mut Outbox, slot: u16, payload: &[u8]) {
        outbox.append(&command_header(1, slot, 0, payload.len()), payload);
    }

    #[test]
    fn frames_leave_in_the_order_in_which_they_came() {
        let mut outbox = Outbox::default();
        assert!(outbox.take().is_none());
        for slot in 0..50 {
            append(&mut outbox, slot, &slot.to_le_bytes());
        }
        let message = outbox.take().unwrap();
        let slots: Vec<u16> = commands(&message).map(|command| command.unwrap().slot).collect();
        assert_eq!(slots, (0..50).collect::<Vec<u16>>());
        assert!(outbox.is_empty());
    }

    #[test]
    fn a_message_ends_where_the_next_frame_would_not_fit() {
        let mut outbox = Outbox::default();
        let payload = [0; 92];
        let mut frames = 0;
        while outbox.has_room(payload.len()) {
            append(&mut outbox, frames, &payload);
            frames += 1;
        }
        assert_eq!(usize::from(frames), MESSAGE_LEN / 100);
        assert!(outbox.take().unwrap().len() <= MESSAGE_LEN);
        assert!(!travels_alone(MESSAGE_LEN - HEADER_LEN) && travels_alone(MESSAGE_LEN - HEADER_LEN + 1));
    }

    #[test]
    fn a_returned_buffer_carries_the_next_message() {
        let mut outbox = Outbox::default();
        append(&mut outbox, 0, b"one");
        let first = outbox.take().unwrap();
        let place = first.as_ptr();
        outbox.recycle(first);
        append(&mut outbox, 1, b"two");
        let second = outbox.take().unwrap();
        append(&mut outbox, 2, b"three");
        let third = outbox.take().unwrap();
        assert!(second.as_ptr() == place || third.as_ptr() == place);
        assert_eq!(commands(&third).next().unwrap().unwrap().payload, b"three");
    }
}
