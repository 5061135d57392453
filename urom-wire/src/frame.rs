//! Frames: commands and notifications as they travel between host and worker.
//!
//! A frame is a [`Header`] of 8 bytes and a body. A [`ring`](crate::ring) carries frames one by
//! one; a UCX message carries several behind an [`Envelope`](crate::envelope::Envelope). DOCA's
//! 24 and 32 byte headers exist only at the two ends.

use urom_abi::DocaError;

/// The size of a frame's header in bytes.
pub const HEADER_LEN: usize = size_of::<Header>();
/// The bytes of DOCA's header before a command (`struct urom_worker_cmd`). They count against the
/// message limit and do not travel.
pub const COMMAND_HEADER: usize = size_of::<urom_abi::plugin::WorkerCmd>();
/// The same before a notification (`struct urom_worker_notify`), where `notif_pack` writes it.
pub const NOTIFICATION_HEADER: usize = size_of::<urom_abi::plugin::WorkerNotify>();
/// The most bytes of a frame's body: 16 MiB less one.
pub const MAX_BODY: usize = (1 << 24) - 1;
/// The smallest message limit in bytes.
pub const MIN_MAX_MESSAGE: usize = 64;
/// The largest message limit in bytes.
pub const MAX_MAX_MESSAGE: usize = MAX_BODY;
/// The largest status that travels. A larger one of a plugin becomes `UNEXPECTED`.
pub const MAX_STATUS: u32 = NO_PAYLOAD - 1;
/// The most tasks a connection can have in flight: slots are 16 bits.
pub const MAX_SLOTS: usize = 1 << 16;

/// A frame's header: the host's task slot in the lowest 16 bits, then a byte (the plugin's bit of a
/// command, the status of a notification), then the body's length in 24 bits. The highest 16 bits
/// are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header(u64);

impl Header {
    const BITS: u64 = (1 << 48) - 1;

    #[inline]
    const fn new(slot: u16, kind: u8, len: usize) -> Header {
        debug_assert!(len <= MAX_BODY);
        Header(slot as u64 | (kind as u64) << 16 | (len as u64) << 24)
    }

    #[inline]
    #[must_use]
    pub const fn word(self) -> u64 {
        self.0
    }

    /// The header in a word, whose highest 16 bits do not count.
    #[inline]
    #[must_use]
    pub const fn from_word(word: u64) -> Header {
        Header(word & Header::BITS)
    }

    #[inline]
    #[must_use]
    pub const fn slot(self) -> u16 {
        self.0 as u16
    }

    #[inline]
    const fn kind(self) -> u8 {
        (self.0 >> 16) as u8
    }

    /// The length of the body in bytes.
    #[inline]
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "the body has the length")]
    pub const fn len(self) -> usize {
        (self.0 >> 24) as usize
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command<'a> {
    /// The host's task slot: it comes back in the notification.
    pub slot: u16,
    /// The bit of the plugin's id; or the kind of [another frame](Command::unusual).
    pub plugin_bit: u8,
    pub payload: &'a [u8],
}

/// The bit of a command's byte for a command with a deadline: the time that is left comes before
/// its payload, in nanoseconds.
const WITH_DEADLINE: u8 = 1 << 6;
/// The bit of the byte of a frame that cancels the command in its slot. The lowest bits are the
/// reason.
const CANCELS: u8 = 1 << 7;
/// The bytes of a deadline before the payload.
pub const DEADLINE_LEN: usize = 8;

/// A frame from a host whose byte is not a plugin's bit alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusual<'a> {
    /// A command with a deadline, so many nanoseconds from now on.
    Limited(Command<'a>, u64),
    /// The host gave up the command in this slot, for a reason of `urom_abi`'s `CancelReason`.
    Cancel(u32),
}

impl<'a> Command<'a> {
    #[inline]
    #[must_use]
    pub fn read(header: Header, body: &'a [u8]) -> Command<'a> {
        Command { slot: header.slot(), plugin_bit: header.kind(), payload: body }
    }

    /// Reads a frame whose byte is not the bit of a plugin; `None` for a command to no plugin.
    #[cold]
    pub fn unusual(&self) -> Option<Unusual<'a>> {
        if self.plugin_bit & CANCELS != 0 {
            return Some(Unusual::Cancel(u32::from(self.plugin_bit & !CANCELS)));
        }
        let (left, payload) = self.payload.split_first_chunk()?;
        (self.plugin_bit & WITH_DEADLINE != 0).then(|| {
            let command =
                Command { plugin_bit: self.plugin_bit & !WITH_DEADLINE, payload, ..*self };
            Unusual::Limited(command, u64::from_le_bytes(*left))
        })
    }
}

/// A command's header without the payload's length: the part that all commands of a slot share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandStart(Header);

impl CommandStart {
    /// The host's task slot, and the bit of the plugin's id.
    #[inline]
    #[must_use]
    pub const fn new(slot: u16, plugin_bit: u8) -> CommandStart {
        CommandStart(Header::new(slot, plugin_bit, 0))
    }

    /// The header for a payload of `len` bytes.
    #[inline]
    #[must_use]
    pub const fn header(self, len: usize) -> Header {
        Header(self.0.0 | Header::new(0, 0, len).0)
    }

    /// The header of a command with a deadline; its payload has `len` bytes behind the
    /// [`DEADLINE_LEN`] of that.
    #[must_use]
    pub const fn header_with_deadline(self, len: usize) -> Header {
        Header(self.0.0 | Header::new(0, WITH_DEADLINE, DEADLINE_LEN + len).0)
    }

    /// The frame that cancels the command in this slot.
    #[must_use]
    pub fn cancel(self, reason: u32) -> Header {
        let reason = u8::try_from(reason).map_or(0, |reason| reason & !CANCELS);
        Header::new(self.0.slot(), CANCELS | reason, 0)
    }
}

/// A status that does not fit the header's byte, or comes with a reason or without a payload: a
/// [`LongStatus`] precedes the payload.
const LONG_STATUS: u8 = u8::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notification<'a> {
    pub slot: u16,
    pub status: DocaError,
    /// The plugin's bytes. A notification that the worker itself made has no payload, and its task
    /// no response.
    pub payload: Option<&'a [u8]>,
    /// The reason why the command failed, in UTF-8; empty without one.
    pub why: &'a [u8],
}

impl<'a> Notification<'a> {
    /// Reads a frame; `None` if its body is too short.
    #[inline]
    #[must_use]
    pub fn read(header: Header, body: &'a [u8]) -> Option<Notification<'a>> {
        let slot = header.slot();
        match short_status(header) {
            Some(status) => Some(Notification { slot, status, payload: Some(body), why: &[] }),
            None => Notification::read_long(slot, body),
        }
    }

    #[cold]
    fn read_long(slot: u16, body: &'a [u8]) -> Option<Notification<'a>> {
        let (status, rest) = body.split_first_chunk()?;
        let (why, rest) = rest.split_first_chunk()?;
        let status = u32::from_le_bytes(*status);
        let payload = rest.len().checked_sub(u16::from_le_bytes(*why).into())?;
        let (payload, why) = rest.split_at(payload);
        let payload = (status & NO_PAYLOAD == 0).then_some(payload);
        Some(Notification { slot, status: DocaError(status & !NO_PAYLOAD), payload, why })
    }
}

/// The status of a notification whose body is its payload; `None` for other notifications.
#[inline]
#[must_use]
pub fn short_status(header: Header) -> Option<DocaError> {
    (header.kind() != LONG_STATUS).then_some(DocaError(header.kind() as u32))
}

/// The header of a notification whose status fits the header's byte; `None` for other statuses.
#[inline]
#[must_use]
pub fn short_notification(slot: u16, status: DocaError, len: usize) -> Option<Header> {
    let kind = u8::try_from(status.0).ok().filter(|kind| *kind != LONG_STATUS)?;
    Some(Header::new(slot, kind, len))
}

/// The bytes before the payload of a notification with a [`LongStatus`].
pub const LONG_STATUS_LEN: usize = 6;

/// A notification of any status, with or without a payload, and the reason of a failure.
///
/// The body holds the status in four bytes, the length of the reason in two, the payload and the
/// reason.
#[derive(Clone, Copy, Debug)]
pub struct LongStatus {
    pub slot: u16,
    pub status: DocaError,
    /// The length of the payload, if there is one.
    pub payload: Option<usize>,
    /// The length of the reason.
    pub why: u16,
}

impl LongStatus {
    /// The header, and the bytes before the payload.
    #[must_use]
    pub fn to_bytes(self) -> (Header, [u8; LONG_STATUS_LEN]) {
        let mut bytes = [0; LONG_STATUS_LEN];
        // Without its top bits it would become another status, perhaps success.
        let status = if self.status.0 > MAX_STATUS { DocaError::UNEXPECTED } else { self.status };
        // Distinguishes a notification without payload from one with a payload of zero bytes.
        let absent = if self.payload.is_none() { NO_PAYLOAD } else { 0 };
        bytes[..4].copy_from_slice(&(status.0 | absent).to_le_bytes());
        bytes[4..].copy_from_slice(&self.why.to_le_bytes());
        let len = LONG_STATUS_LEN + self.payload.unwrap_or(0) + usize::from(self.why);
        (Header::new(self.slot, LONG_STATUS, len), bytes)
    }
}

/// The bit of a long status without a payload. DOCA's codes are small numbers.
const NO_PAYLOAD: u32 = 1 << 31;

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
