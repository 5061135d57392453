//! Frames: the format of commands and notifications between host and worker, a [`Header`] of 8
//! bytes and a body. A [`ring`](crate::ring) carries single frames; a UCX message carries several
//! after an [`Envelope`](crate::envelope::Envelope). DOCA's 24 and 32 byte headers exist only at
//! the two ends.

use urom_abi::DocaStatus;
use urom_abi::trace::{CONTEXT_LEN, TraceContext};

pub const HEADER_LEN: usize = size_of::<Header>();
/// DOCA's header before a command, counted in the message limit but not sent.
pub const COMMAND_HEADER: usize = size_of::<urom_abi::plugin::WorkerCmd>();
/// DOCA's header before a notification, where `notif_pack` writes it.
pub const NOTIFICATION_HEADER: usize = size_of::<urom_abi::plugin::WorkerNotify>();
pub const MAX_BODY: usize = (1 << 24) - 1;
pub const MIN_MAX_MESSAGE: usize = 64;
pub const MAX_MAX_MESSAGE: usize = MAX_BODY;
/// The largest status in a frame. A plugin's larger status becomes `UNEXPECTED`.
pub const MAX_STATUS: u32 = NO_PAYLOAD - 1;
/// The most tasks in flight of a connection: slots are 16 bits.
pub const MAX_SLOTS: usize = 1 << 16;

/// A frame's header: the host's task slot in the lowest 16 bits, then a byte (a command's plugin
/// bit, a notification's status), then the body's length in 24 bits. The highest 16 bits are zero.
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

    /// The header in a word, whose highest 16 bits are ignored.
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

    #[inline]
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "the body has the length")]
    pub const fn len(self) -> usize {
        (self.0 >> 24) as usize
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command<'a> {
    /// The host's task slot, returned in the notification.
    pub slot: u16,
    /// The bit of the plugin's id; or the kind of an [unusual frame](Command::unusual).
    pub plugin_bit: u8,
    pub payload: &'a [u8],
}

/// Marks a command with a deadline: the remaining nanoseconds precede its payload.
const WITH_DEADLINE: u8 = 1 << 6;
/// Marks a frame that cancels the command in its slot. The lowest bits are the reason.
const CANCELS: u8 = 1 << 7;
/// Marks a command with a trace context, of protocol 15: [`TRACED_LEN`] bytes precede its payload.
const TRACED: u8 = WITH_DEADLINE | CANCELS;
pub const DEADLINE_LEN: usize = 8;
/// The remaining nanoseconds, 0 without a deadline, and the context.
pub const TRACED_LEN: usize = DEADLINE_LEN + CONTEXT_LEN;

/// A host's frame with more than a plugin's bit in its byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusual<'a> {
    /// A command with a deadline, in nanoseconds from now.
    Limited(Command<'a>, u64),
    /// A command with a trace context, unless its bytes are none, and a deadline or 0.
    Traced(Command<'a>, u64, Option<TraceContext>),
    /// The host cancelled the command in this slot, for a `CancelReason` of `urom_abi`.
    Cancel(u32),
}

impl<'a> Command<'a> {
    #[inline]
    #[must_use]
    pub fn read(header: Header, body: &'a [u8]) -> Command<'a> {
        Command { slot: header.slot(), plugin_bit: header.kind(), payload: body }
    }

    /// Reads an unusual frame; `None` for a command without a valid plugin.
    #[cold]
    pub fn unusual(&self) -> Option<Unusual<'a>> {
        if self.plugin_bit & TRACED == TRACED {
            let (left, rest) = self.payload.split_first_chunk()?;
            let (context, payload) = rest.split_first_chunk()?;
            let command = Command { plugin_bit: self.plugin_bit & !TRACED, payload, ..*self };
            let context = TraceContext::from_bytes(context);
            return Some(Unusual::Traced(command, u64::from_le_bytes(*left), context));
        }
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

/// A command's header without the payload's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandStart(Header);

impl CommandStart {
    #[inline]
    #[must_use]
    pub const fn new(slot: u16, plugin_bit: u8) -> CommandStart {
        CommandStart(Header::new(slot, plugin_bit, 0))
    }

    #[inline]
    #[must_use]
    pub const fn header(self, len: usize) -> Header {
        Header(self.0.0 | Header::new(0, 0, len).0)
    }

    /// `len` bytes of payload follow the [`DEADLINE_LEN`] bytes.
    #[must_use]
    pub const fn header_with_deadline(self, len: usize) -> Header {
        Header(self.0.0 | Header::new(0, WITH_DEADLINE, DEADLINE_LEN + len).0)
    }

    /// `len` bytes of payload follow the [`TRACED_LEN`] bytes.
    #[must_use]
    pub const fn header_with_trace(self, len: usize) -> Header {
        Header(self.0.0 | Header::new(0, TRACED, TRACED_LEN + len).0)
    }

    #[must_use]
    pub fn cancel(self, reason: u32) -> Header {
        let reason = u8::try_from(reason).map_or(0, |reason| reason & !TRACED);
        Header::new(self.0.slot(), CANCELS | reason, 0)
    }
}

/// A [`LongStatus`] precedes the payload.
const LONG_STATUS: u8 = u8::MAX;
/// In the length of a reason: a trace and its length in two bytes follow the reason.
const WITH_TRACE: u16 = 1 << 15;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notification<'a> {
    pub slot: u16,
    pub status: DocaStatus,
    /// `None` for a notification by the worker itself: its task lacks a response.
    pub payload: Option<&'a [u8]>,
    /// The reason of a failure, in UTF-8; may be empty.
    pub why: &'a [u8],
    /// The worker's part of the command's trace, an encoded
    /// [`WorkerTrace`](crate::trace::WorkerTrace); `None` for a command without a context.
    pub trace: Option<&'a [u8]>,
}

impl<'a> Notification<'a> {
    #[inline]
    #[must_use]
    pub fn read(header: Header, body: &'a [u8]) -> Option<Notification<'a>> {
        let slot = header.slot();
        match short_status(header) {
            Some(status) => {
                Some(Notification { slot, status, payload: Some(body), why: &[], trace: None })
            }
            None => Notification::read_long(slot, body),
        }
    }

    #[cold]
    fn read_long(slot: u16, body: &'a [u8]) -> Option<Notification<'a>> {
        let (status, rest) = body.split_first_chunk()?;
        let (why, mut rest) = rest.split_first_chunk()?;
        let (status, why) = (u32::from_le_bytes(*status), u16::from_le_bytes(*why));
        let mut trace = None;
        if why & WITH_TRACE != 0 {
            let (before, len) = rest.split_last_chunk()?;
            let end = before.len().checked_sub(u16::from_le_bytes(*len).into())?;
            (rest, trace) = (&before[..end], Some(&before[end..]));
        }
        let payload = rest.len().checked_sub((why & !WITH_TRACE).into())?;
        let (payload, why) = rest.split_at(payload);
        let payload = (status & NO_PAYLOAD == 0).then_some(payload);
        let status = DocaStatus(status & !NO_PAYLOAD);
        Some(Notification { slot, status, payload, why, trace })
    }
}

/// The status of a notification whose body is only its payload; `None` for other notifications.
#[inline]
#[must_use]
pub fn short_status(header: Header) -> Option<DocaStatus> {
    (header.kind() != LONG_STATUS).then_some(DocaStatus(header.kind() as u32))
}

/// The header of a notification whose status fits in the header's byte; `None` for other statuses.
#[inline]
#[must_use]
pub fn short_notification(slot: u16, status: DocaStatus, len: usize) -> Option<Header> {
    let kind = u8::try_from(status.0).ok().filter(|kind| *kind != LONG_STATUS)?;
    Some(Header::new(slot, kind, len))
}

pub const LONG_STATUS_LEN: usize = 6;

/// A notification of any status, with an optional payload and the reason of a failure. The body
/// holds the status in four bytes, the reason's length in two, the payload, the reason and, for a
/// command with a trace context, a trace.
#[derive(Clone, Copy, Debug)]
pub struct LongStatus {
    pub slot: u16,
    pub status: DocaStatus,
    pub payload: Option<usize>,
    pub why: u16,
    /// The length of an encoded trace, which is followed by two bytes with this length.
    pub trace: Option<u16>,
}

impl LongStatus {
    #[must_use]
    pub fn to_bytes(self) -> (Header, [u8; LONG_STATUS_LEN]) {
        let mut bytes = [0; LONG_STATUS_LEN];
        // Without its top bits it would become another status, perhaps success.
        let status = if self.status.0 > MAX_STATUS { DocaStatus::UNEXPECTED } else { self.status };
        // Distinguishes no payload from an empty payload.
        let absent = if self.payload.is_none() { NO_PAYLOAD } else { 0 };
        bytes[..4].copy_from_slice(&(status.0 | absent).to_le_bytes());
        let flag = if self.trace.is_some() { WITH_TRACE } else { 0 };
        bytes[4..].copy_from_slice(&(self.why | flag).to_le_bytes());
        let len = LONG_STATUS_LEN + self.payload.unwrap_or(0) + usize::from(self.why);
        let trace = self.trace.map_or(0, |trace| usize::from(trace) + 2);
        (Header::new(self.slot, LONG_STATUS, len + trace), bytes)
    }
}

/// Marks a long status without a payload. DOCA's codes are small numbers.
const NO_PAYLOAD: u32 = 1 << 31;

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
