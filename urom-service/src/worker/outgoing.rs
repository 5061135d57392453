//! Outgoing messages: notification frames that travel together, and the buffers they are written into.
//!
//! A plugin's `notif_pack` writes a 32-byte header and the notification behind it; the frame wants its own header of 8
//! (or 12) bytes and the same bytes behind it. So the plugin packs 32 bytes *before* the place of the payload, over the
//! end of the previous frame, whose bytes are saved before and put back afterwards. Nothing is copied twice.

use ucx::Buffer;
use urom_abi::DocaError;

use crate::wire::frame::{HEADER_LEN, MESSAGE_LEN, NOTIFICATION_HEADER, notification_header};

/// The longest frame header.
const LONG_HEADER: usize = HEADER_LEN + 4;

/// Room before the first frame, for the header that `notif_pack` writes there.
const HEADROOM: usize = NOTIFICATION_HEADER - HEADER_LEN;

/// Frames in a buffer.
#[derive(Debug)]
pub(crate) struct Outgoing {
    bytes: Box<[u8]>,
    /// Where the frames end.
    end: usize,
    /// How many there are.
    frames: usize,
}

// SAFETY: the bytes are on the heap, stay there when the box moves, and `end` changes only through `&mut self`.
unsafe impl Buffer for Outgoing {
    fn start(&self) -> *const u8 {
        self.bytes[HEADROOM..].as_ptr()
    }

    fn len(&self) -> usize {
        self.end - HEADROOM
    }
}

impl Outgoing {
    /// An empty message for notifications of up to `limit` bytes, their 32-byte header included.
    pub(crate) fn new(limit: usize) -> Outgoing {
        let room = HEADROOM + MESSAGE_LEN + LONG_HEADER + limit;
        // Fresh zeroed memory from the system is not touched before it is used, however large the limit.
        Outgoing { bytes: vec![0; room].into_boxed_slice(), end: HEADROOM, frames: 0 }
    }

    /// How many frames there are.
    pub(crate) fn frames(&self) -> usize {
        self.frames
    }

    /// Whether a frame with a payload of `len` bytes may join; an empty message takes any.
    pub(crate) fn has_room(&self, len: usize) -> bool {
        self.frames == 0 || self.end - HEADROOM + LONG_HEADER + len <= MESSAGE_LEN
    }

    /// Adds a notification that `pack` writes: its header of 32 bytes, then the payload, into a place of `limit` bytes.
    /// There must be [room](Outgoing::has_room).
    ///
    /// # Errors
    /// That of `pack`; nothing is added then.
    pub(crate) fn add_packed(
        &mut self,
        channel: u16,
        slot: u16,
        status: DocaError,
        limit: usize,
        pack: impl FnOnce(&mut [u8]) -> Result<usize, DocaError>,
    ) -> Result<(), DocaError> {
        // How long the frame's header is depends on the status alone.
        let (_, header_len) = notification_header(channel, slot, status, Some(0));
        let payload_at = self.end + header_len;
        let place = payload_at - NOTIFICATION_HEADER;
        let mut saved = [0; HEADROOM];
        let saved = &mut saved[..self.end - place];
        saved.copy_from_slice(&self.bytes[place..self.end]);
        let packed = pack(&mut self.bytes[place..place + limit]);
        self.bytes[place..self.end].copy_from_slice(saved);
        let len = packed? - NOTIFICATION_HEADER;
        let (header, _) = notification_header(channel, slot, status, Some(len));
        self.bytes[self.end..payload_at].copy_from_slice(&header[..header_len]);
        self.end = payload_at + len;
        self.frames += 1;
        Ok(())
    }

    /// Adds a notification of the worker's own. There must be [room](Outgoing::has_room) for no payload.
    pub(crate) fn add_bare(&mut self, channel: u16, slot: u16, status: DocaError) {
        let (header, len) = notification_header(channel, slot, status, None);
        self.bytes[self.end..self.end + len].copy_from_slice(&header[..len]);
        self.end += len;
        self.frames += 1;
    }

    /// Makes it empty again.
    pub(crate) fn clear(&mut self) {
        self.end = HEADROOM;
        self.frames = 0;
    }
}

/// Buffers that wait to be used again.
#[derive(Debug)]
pub(crate) struct Pool {
    spares: Vec<Outgoing>,
    limit: usize,
}

/// How many buffers are kept.
const SPARES: usize = 64;

impl Pool {
    /// A pool of buffers for notifications of up to `limit` bytes.
    pub(crate) fn new(limit: usize) -> Pool {
        Pool { spares: Vec::with_capacity(SPARES), limit }
    }

    /// An empty buffer.
    pub(crate) fn take(&mut self) -> Outgoing {
        self.spares.pop().unwrap_or_else(|| Outgoing::new(self.limit))
    }

    /// Keeps a buffer for later.
    pub(crate) fn give(&mut self, mut buffer: Outgoing) {
        if self.spares.len() < SPARES {
            buffer.clear();
            self.spares.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::frame::notifications;

    const LIMIT: usize = 64;

    fn message(outgoing: &Outgoing) -> &[u8] {
        &outgoing.bytes[HEADROOM..outgoing.end]
    }

    fn add(outgoing: &mut Outgoing, slot: u16, status: DocaError, payload: &[u8]) {
        let pack = |place: &mut [u8]| {
            assert_eq!(place.len(), LIMIT);
            place[..NOTIFICATION_HEADER].fill(0xee);
            place[NOTIFICATION_HEADER..][..payload.len()].copy_from_slice(payload);
            Ok(NOTIFICATION_HEADER + payload.len())
        };
        outgoing.add_packed(3, slot, status, LIMIT, pack).unwrap();
    }

    #[test]
    fn frames_packed_over_each_others_ends_come_out_whole() {
        let mut outgoing = Outgoing::new(LIMIT);
        let statuses = [DocaError::SUCCESS, DocaError(254), DocaError(255), DocaError(70_000)];
        for (slot, status) in statuses.into_iter().cycle().take(20).enumerate() {
            add(&mut outgoing, slot as u16, status, &vec![slot as u8; slot]);
        }
        outgoing.add_bare(3, 20, DocaError::SHUTDOWN);
        let found: Vec<_> = notifications(message(&outgoing)).map(Result::unwrap).collect();
        assert_eq!((found.len(), outgoing.frames()), (21, 21));
        for (slot, frame) in found[..20].iter().enumerate() {
            assert_eq!((frame.slot, frame.status), (slot as u16, statuses[slot % 4]));
            assert_eq!(frame.payload, Some(&vec![slot as u8; slot][..]));
        }
        assert_eq!((found[20].status, found[20].payload), (DocaError::SHUTDOWN, None));
    }

    #[test]
    fn a_pack_that_fails_leaves_the_frames_before_it_alone() {
        let mut outgoing = Outgoing::new(LIMIT);
        add(&mut outgoing, 1, DocaError::SUCCESS, b"kept");
        let failed = outgoing.add_packed(3, 2, DocaError::SUCCESS, LIMIT, |place| {
            place.fill(0xee);
            Err(DocaError::INITIALIZATION)
        });
        assert_eq!(failed, Err(DocaError::INITIALIZATION));
        let found: Vec<_> = notifications(message(&outgoing)).map(Result::unwrap).collect();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].payload, Some(&b"kept"[..]));
    }

    #[test]
    fn a_message_takes_frames_up_to_its_length_and_a_long_one_alone() {
        let mut outgoing = Outgoing::new(1 << 20);
        assert!(outgoing.has_room(1 << 20));
        while outgoing.has_room(32) {
            outgoing.add_packed(1, 0, DocaError(300), 64, |_| Ok(64)).unwrap();
        }
        assert!(outgoing.len() <= MESSAGE_LEN && outgoing.len() > MESSAGE_LEN - 2 * 44);
        assert!(!outgoing.has_room(1 << 20));
        outgoing.clear();
        assert!(outgoing.has_room(1 << 20) && outgoing.len() == 0);
    }
}
