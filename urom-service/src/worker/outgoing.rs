//! Outgoing messages: notification frames that travel together, and their buffers.
//!
//! A plugin's `notif_pack` writes a 32-byte header and the notification; a frame has a header of 8
//! or 12 bytes. So the plugin packs over the end of the previous frame, whose bytes are saved
//! before and restored afterwards. Nothing is copied twice.

use ucx::Buffer;
use urom_abi::DocaError;
use urom_abi::extension::LONGEST_FAILURE;

use urom_wire::frame::{
    EXPLAINED_HEADER, HEADER_LEN, MESSAGE_LEN, NOTIFICATION_HEADER, explained_header,
    notification_header, notification_header_len, short_header,
};
use urom_wire::pass::Pass;

const LONG_HEADER: usize = HEADER_LEN + 4;

/// Room before the first frame, for the header that `notif_pack` writes there.
const HEADROOM: usize = NOTIFICATION_HEADER - HEADER_LEN;

/// Frames in a buffer. It is a single pointer, so that handing it over costs no more.
#[derive(Debug)]
pub(crate) struct Outgoing(Box<Frames>);

#[derive(Debug)]
struct Frames {
    /// How many bytes the connection's pass and the frames take; they begin behind the headroom.
    len: usize,
    count: usize,
    bytes: Box<[u8]>,
}

// SAFETY: the bytes are on the heap, stay there when the box moves, and `len` changes only through
// `&mut self`.
unsafe impl Buffer for Outgoing {
    #[inline]
    fn start(&self) -> *const u8 {
        // There are more bytes than that: `new`.
        self.0.bytes.as_ptr().wrapping_add(HEADROOM)
    }

    #[inline]
    fn len(&self) -> usize {
        self.0.len
    }
}

impl Outgoing {
    pub(crate) fn new(limit: usize) -> Outgoing {
        let room = Outgoing::room_for(limit);
        // Fresh zeroed memory from the system is not touched before it is used, however large the
        // limit.
        Outgoing(Box::new(Frames {
            len: Pass::LEN,
            count: 0,
            bytes: vec![0; room].into_boxed_slice(),
        }))
    }

    pub(crate) fn begin_with(mut self, pass: Pass) -> Outgoing {
        self.0.bytes[HEADROOM..][..Pass::LEN].copy_from_slice(pass.as_bytes());
        self
    }

    pub(crate) fn room_for(limit: usize) -> usize {
        // A text may come behind a notification that is as long as may be.
        HEADROOM + Pass::LEN + MESSAGE_LEN + EXPLAINED_HEADER + limit + LONGEST_FAILURE
    }

    #[inline]
    pub(crate) fn frames(&self) -> usize {
        self.0.count
    }

    /// Whether a frame with a payload of `len` bytes may join; an empty message takes any.
    #[inline]
    pub(crate) fn has_room(&self, len: usize) -> bool {
        self.0.count == 0 || self.0.len + LONG_HEADER + len <= MESSAGE_LEN
    }

    /// Adds a notification that `pack` writes: its header of 32 bytes, then the payload, into a
    /// place of `limit` bytes, at least the header's. It says how many bytes the payload has. There
    /// must be [room](Outgoing::has_room).
    #[inline]
    pub(crate) fn add_packed<E>(
        &mut self,
        channel: u16,
        slot: u16,
        status: DocaError,
        limit: usize,
        pack: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<(), E> {
        // How long the frame's header is depends on the status alone.
        if notification_header_len(status) != HEADER_LEN {
            return self.add_long(channel, slot, status, limit, pack);
        }
        self.add_behind(limit, pack, |payload| short_header(channel, slot, status, payload))
    }

    /// As [`add_packed`](Outgoing::add_packed), for a status that takes four bytes.
    #[cold]
    #[inline(never)]
    fn add_long<E>(
        &mut self,
        channel: u16,
        slot: u16,
        status: DocaError,
        limit: usize,
        pack: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<(), E> {
        self.add_behind(limit, pack, |payload| {
            let (header, _, sent) = notification_header(channel, slot, status, Some(payload));
            (header, sent)
        })
    }

    /// As [`add_packed`](Outgoing::add_packed), with the reason why the command failed, of
    /// [`LONGEST_FAILURE`] bytes at most.
    #[cold]
    pub(crate) fn add_explained<E>(
        &mut self,
        channel: u16,
        slot: u16,
        status: DocaError,
        limit: usize,
        why: &str,
        pack: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<(), E> {
        let why_len = why.len() as u16;
        self.add_behind::<EXPLAINED_HEADER, E>(limit, pack, |payload| {
            (explained_header(channel, slot, status, Some(payload.len()), why_len), payload.len())
        })?;
        self.append(why.as_bytes());
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) {
        let frames = &mut *self.0;
        frames.bytes[HEADROOM + frames.len..][..bytes.len()].copy_from_slice(bytes);
        frames.len += bytes.len();
    }

    /// Where the payload of the next frame begins if its status is success: a plugin may write its
    /// answer there, of `room` bytes at most. There must be [room](Outgoing::has_room).
    #[inline]
    pub(crate) fn place(&mut self, room: usize) -> &mut [u8] {
        let at = HEADROOM + self.0.len + HEADER_LEN;
        &mut self.0.bytes[at..at + room]
    }

    /// Makes a frame with the status success of the first `len` bytes of the
    /// [place](Outgoing::place).
    #[inline]
    pub(crate) fn commit(&mut self, channel: u16, slot: u16, len: usize) {
        let frames = &mut *self.0;
        let place = &mut frames.bytes[HEADROOM + frames.len..][..HEADER_LEN + len];
        let (own, payload) = place.split_at_mut(HEADER_LEN);
        let (header, sent) = short_header(channel, slot, DocaError::SUCCESS, payload);
        own.copy_from_slice(&header);
        frames.len += HEADER_LEN + sent;
        frames.count += 1;
    }

    /// Adds what `pack` writes behind the frame's header, which `header` makes of the payload; it
    /// says how much of that travels.
    #[inline]
    fn add_behind<const HEADER: usize, E>(
        &mut self,
        limit: usize,
        pack: impl FnOnce(&mut [u8]) -> Result<usize, E>,
        header: impl FnOnce(&[u8]) -> ([u8; HEADER], usize),
    ) -> Result<(), E> {
        let frames = &mut *self.0;
        // So the header that `pack` writes ends where the frame's does.
        let at = frames.len + HEADER - HEADER_LEN;
        let place = &mut frames.bytes[at..at + limit];
        let saved = *overlap(place);
        let packed = pack(place).map(|len| header(&place[NOTIFICATION_HEADER..][..len]));
        let (before, own) = overlap(place).split_at_mut(NOTIFICATION_HEADER - HEADER);
        before.copy_from_slice(&saved[..NOTIFICATION_HEADER - HEADER]);
        let (header, sent) = packed?;
        own.copy_from_slice(&header);
        frames.len += HEADER + sent;
        frames.count += 1;
        Ok(())
    }

    pub(crate) fn add_bare(&mut self, channel: u16, slot: u16, status: DocaError, why: &str) {
        if why.is_empty() {
            let (header, len, _) = notification_header(channel, slot, status, None);
            self.append(&header[..len]);
        } else {
            self.append(&explained_header(channel, slot, status, None, why.len() as u16));
            self.append(why.as_bytes());
        }
        self.0.count += 1;
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        self.0.len = Pass::LEN;
        self.0.count = 0;
    }
}

#[inline]
fn overlap(place: &mut [u8]) -> &mut [u8; NOTIFICATION_HEADER] {
    match place.first_chunk_mut() {
        Some(overlap) => overlap,
        None => unreachable!("a message limit has room for a header"),
    }
}

#[derive(Debug)]
pub(crate) struct Pool {
    spares: Vec<Outgoing>,
    limit: usize,
}

const SPARES: usize = 64;

impl Pool {
    pub(crate) fn new(limit: usize) -> Pool {
        Pool { spares: Vec::with_capacity(SPARES), limit }
    }

    #[cold]
    pub(crate) fn take(&mut self) -> Outgoing {
        self.spares.pop().unwrap_or_else(|| Outgoing::new(self.limit))
    }

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
    use urom_wire::frame::notifications;

    const LIMIT: usize = 64;

    fn whole(outgoing: &Outgoing) -> &[u8] {
        &outgoing.0.bytes[HEADROOM..HEADROOM + outgoing.0.len]
    }

    fn message(outgoing: &Outgoing) -> &[u8] {
        &whole(outgoing)[Pass::LEN..]
    }

    fn add(outgoing: &mut Outgoing, slot: u16, status: DocaError, payload: &[u8]) {
        let pack = |place: &mut [u8]| {
            assert_eq!(place.len(), LIMIT);
            place[..NOTIFICATION_HEADER].fill(0xee);
            place[NOTIFICATION_HEADER..][..payload.len()].copy_from_slice(payload);
            Ok(payload.len())
        };
        outgoing.add_packed::<()>(3, slot, status, LIMIT, pack).unwrap();
    }

    #[test]
    fn frames_packed_over_each_others_ends_come_out_whole() {
        let mut outgoing = Outgoing::new(LIMIT);
        let statuses = [DocaError::SUCCESS, DocaError(254), DocaError(255), DocaError(70_000)];
        for (slot, status) in statuses.into_iter().cycle().take(20).enumerate() {
            add(&mut outgoing, slot as u16, status, &vec![slot as u8; slot]);
        }
        outgoing.add_bare(3, 20, DocaError::SHUTDOWN, "");
        let found: Vec<_> = notifications(message(&outgoing)).map(Result::unwrap).collect();
        assert_eq!((found.len(), outgoing.frames()), (21, 21));
        for (slot, frame) in found[..20].iter().enumerate() {
            assert_eq!((frame.slot, frame.status), (slot as u16, statuses[slot % 4]));
            assert_eq!(frame.payload.map(|payload| payload.to_vec()), Some(vec![slot as u8; slot]));
        }
        assert_eq!((found[20].status, found[20].payload), (DocaError::SHUTDOWN, None));
    }

    #[test]
    fn a_message_begins_with_the_pass_of_its_connection_and_a_used_one_with_another_s() {
        let mut pool = Pool::new(LIMIT);
        for pass in [Pass::new(7), Pass::new(8)] {
            let mut outgoing = pool.take().begin_with(pass);
            for _ in 0..2 {
                add(&mut outgoing, 1, DocaError(300), b"one");
                outgoing.add_bare(3, 2, DocaError::SHUTDOWN, "");
                let (begins_with, frames) = Pass::split(whole(&outgoing)).unwrap();
                assert_eq!(
                    (begins_with, notifications(frames).map(Result::unwrap).count()),
                    (pass, 2)
                );
                outgoing.clear();
            }
            pool.give(outgoing);
        }
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
        assert_eq!(found[0].payload.map(|payload| payload.bytes()), Some(&b"kept"[..]));
    }

    #[test]
    fn zeros_that_do_not_travel_leave_their_place_to_the_next_frame() {
        let mut outgoing = Outgoing::new(LIMIT + NOTIFICATION_HEADER);
        let pack = |byte| {
            move |place: &mut [u8]| {
                place.fill(0xee);
                place[NOTIFICATION_HEADER..][..48]
                    .copy_from_slice(&[[byte; 16], [0; 16], [0; 16]].concat());
                Ok(48)
            }
        };
        for slot in 1..4_u8 {
            outgoing.add_packed::<()>(3, slot.into(), DocaError::SUCCESS, 96, pack(slot)).unwrap();
        }
        assert_eq!(message(&outgoing).len(), 3 * (HEADER_LEN + 16));
        for (slot, frame) in (1..).zip(notifications(message(&outgoing))) {
            let payload = frame.unwrap().payload.unwrap();
            assert_eq!((payload.bytes(), payload.len()), (&[slot; 16][..], 48));
        }
    }

    #[test]
    fn a_message_takes_frames_up_to_its_length_and_a_long_one_alone() {
        let mut outgoing = Outgoing::new(1 << 20);
        assert!(outgoing.has_room(1 << 20));
        while outgoing.has_room(32) {
            outgoing.add_packed::<()>(1, 0, DocaError(300), 64, |_| Ok(32)).unwrap();
        }
        assert!(outgoing.len() <= MESSAGE_LEN && outgoing.len() > MESSAGE_LEN - 2 * 44);
        assert!(!outgoing.has_room(1 << 20));
        outgoing.clear();
        assert!(outgoing.has_room(1 << 20) && message(&outgoing).is_empty());
    }
}
