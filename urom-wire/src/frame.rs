//! Frames: commands and notifications as they travel between host and worker.
//!
//! An active message holds its connection's [pass](super::pass), then frames without padding: an
//! 8-byte header and the plugin's bytes, so that a small command fits the transport's first cache
//! line with UCX's header. DOCA's 24 and 32 byte headers exist only at the two ends. Messages are
//! sent with `AmFlags::EAGER`: they arrive whole and in order.

use urom_abi::DocaError;

/// The active-message id of commands, host to worker, behind their connection's
/// [pass](super::pass).
pub const AM_COMMANDS: u16 = 1;
/// The active-message id of notifications, worker to host, behind the same pass.
pub const AM_NOTIFICATIONS: u16 = 2;
/// The active-message id of the empty message that shows, before a worker counts as running, that
/// UCX works in both directions. Its header of two bytes is the receiver's channel number.
pub const AM_GREET: u16 = 3;
/// The active-message id of the empty message that a process sends to its own receive queue. Its
/// header is a nonce of eight bytes.
pub const AM_PROBE: u16 = 4;

/// The size of a frame's header in bytes.
pub const HEADER_LEN: usize = 8;
/// The longest message of several frames, in bytes: with UCX's own headers it fits one
/// shared-memory segment.
pub const MESSAGE_LEN: usize = 8000;
/// The bytes of DOCA's header before a command (`struct urom_worker_cmd`). They count against the
/// message limit and do not travel.
pub const COMMAND_HEADER: usize = size_of::<urom_abi::plugin::WorkerCmd>();
/// The same before a notification (`struct urom_worker_notify`), where `notif_pack` writes it.
pub const NOTIFICATION_HEADER: usize = size_of::<urom_abi::plugin::WorkerNotify>();
/// The most bytes a frame can carry behind its header: 16 MiB less one.
pub const MAX_PAYLOAD: usize = (1 << 24) - 1;
/// The smallest message limit in bytes.
pub const MIN_MAX_MESSAGE: usize = 64;
/// The largest message limit in bytes.
pub const MAX_MAX_MESSAGE: usize = MAX_PAYLOAD;
/// The largest status that travels. A larger one of a plugin becomes `UNEXPECTED`.
pub const MAX_STATUS: u32 = EXPLAINED - 1;
/// The most tasks a connection can have in flight: slots are 16 bits.
pub const MAX_SLOTS: usize = 1 << 16;

/// A status that does not fit the header's byte: the four bytes behind the header hold it.
const LONG_STATUS: u8 = u8::MAX;
/// Success, and zeros at the payload's end that do not travel. The lowest 8 of the header's 24 bits
/// say how many bytes travel, the others how many there are with the zeros.
const CUT: u8 = LONG_STATUS - 1;
/// The longest payload whose zeros are cut off: a host has that much zeroed room for any answer.
pub const MAX_CUT: usize = 64;
/// The shortest one. A shorter payload fits the first cache line of a message over shared memory,
/// behind UCX's header and the frame's.
const MIN_CUT: usize = 21;

/// A frame's header as a little-endian number: the channel in the lowest 16 bits, the slot in the
/// next 16, then a byte (the plugin's bit of a command, the status of a notification), and the
/// payload's length in the highest 24.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header(u64);

impl Header {
    #[inline]
    const fn new(channel: u16, slot: u16, kind: u8, len: usize) -> Header {
        debug_assert!(len <= MAX_PAYLOAD);
        Header(channel as u64 | (slot as u64) << 16 | (kind as u64) << 32 | (len as u64) << 40)
    }

    #[inline]
    const fn bytes(self) -> [u8; HEADER_LEN] {
        self.0.to_le_bytes()
    }

    #[inline]
    const fn channel(self) -> u16 {
        self.0 as u16
    }

    #[inline]
    const fn slot(self) -> u16 {
        (self.0 >> 16) as u16
    }

    #[inline]
    const fn kind(self) -> u8 {
        (self.0 >> 32) as u8
    }

    #[inline]
    const fn len(self) -> usize {
        (self.0 >> 40) as usize
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command<'a> {
    pub channel: u16,
    /// The host's task slot: it comes back in the notification.
    pub slot: u16,
    /// Which bit the plugin's id is; or what else the frame is, see [`Command::unusual`].
    pub plugin_bit: u8,
    pub payload: &'a [u8],
}

/// The bit of a command's byte that says that the time that is left for it comes before its
/// payload: eight bytes, nanoseconds.
const WITH_DEADLINE: u8 = 1 << 6;
/// The bit of a command's byte that says that it is none: nobody waits for the one in its slot any
/// more. The lowest bits are the reason.
const CANCELS: u8 = 1 << 7;
/// How many bytes the time that is left takes.
pub const DEADLINE_LEN: usize = 8;

/// What a command is whose byte is not just a plugin's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusual<'a> {
    /// A command for which there are so many nanoseconds left.
    Limited(Command<'a>, u64),
    /// Nobody waits for the command in this slot, for a reason of `urom_abi`'s `CancelReason`.
    Cancel(u32),
}

impl<'a> Command<'a> {
    /// What this is if its byte is not the bit of a plugin; `None` for a command to no plugin.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notification<'a> {
    pub channel: u16,
    pub slot: u16,
    pub status: DocaError,
    /// The plugin's bytes. A notification that the worker itself made has no payload, and its task
    /// no response.
    pub payload: Option<Payload<'a>>,
    /// Why the command failed, in UTF-8: empty unless somebody said so.
    pub why: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload<'a> {
    bytes: &'a [u8],
    /// How many zeros follow; with them it is at most [`MAX_CUT`] bytes long.
    zeros: usize,
}

impl<'a> Payload<'a> {
    #[inline]
    pub const fn whole(bytes: &'a [u8]) -> Payload<'a> {
        Payload { bytes, zeros: 0 }
    }

    /// A payload of which only these bytes travelled, followed by `zeros` zeros. `None` when it is
    /// longer than [`MAX_CUT`].
    #[inline]
    pub fn cut(bytes: &'a [u8], zeros: usize) -> Option<Payload<'a>> {
        let len = bytes.len().checked_add(zeros)?;
        (len <= MAX_CUT).then_some(Payload { bytes, zeros })
    }

    /// The bytes that travelled: all but the zeros at the end.
    #[inline]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    #[inline]
    #[allow(clippy::len_without_is_empty, reason = "nobody asks")]
    pub const fn len(&self) -> usize {
        // Only a short payload has zeros, so this does not overflow.
        self.bytes.len() + self.zeros
    }

    pub fn to_vec(&self) -> Vec<u8> {
        let mut all = self.bytes.to_vec();
        all.resize(self.len(), 0);
        all
    }
}

/// The bytes of a message are not frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a message of {total} bytes breaks off inside the frame at byte {at}")]
pub struct Broken {
    /// Where the frame that does not fit begins.
    pub at: usize,
    pub total: usize,
}

/// The header of a command whose payload of `len` bytes follows.
#[inline]
pub fn command_header(channel: u16, slot: u16, plugin_bit: u8, len: usize) -> [u8; HEADER_LEN] {
    CommandStart::new(channel, slot, plugin_bit).header(len)
}

/// A command's header without the payload's length: the part that all commands of a slot share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandStart(Header);

impl CommandStart {
    /// The receiver's number for the connection, the host's task slot, and which bit the plugin's
    /// id is.
    #[inline]
    pub const fn new(channel: u16, slot: u16, plugin_bit: u8) -> CommandStart {
        CommandStart(Header::new(channel, slot, plugin_bit, 0))
    }

    /// The header for a payload of `len` bytes, at most [`MAX_PAYLOAD`].
    #[inline]
    pub const fn header(self, len: usize) -> [u8; HEADER_LEN] {
        Header(self.0.0 | Header::new(0, 0, 0, len).0).bytes()
    }

    /// The header of a command with a deadline; its payload has `len` bytes behind the
    /// [`DEADLINE_LEN`] of that.
    pub const fn header_with_deadline(self, len: usize) -> [u8; HEADER_LEN] {
        Header(self.0.0 | Header::new(0, 0, WITH_DEADLINE, DEADLINE_LEN + len).0).bytes()
    }

    /// The frame that says that nobody waits for the command in this slot any more.
    pub fn cancel(self, reason: u32) -> [u8; HEADER_LEN] {
        let reason = u8::try_from(reason).map_or(0, |reason| reason & !CANCELS);
        Header::new(self.0.channel(), self.0.slot(), CANCELS | reason, 0).bytes()
    }
}

/// How many bytes the header of a plugin's notification takes: 8, or 12 when the status needs its
/// four bytes.
#[inline]
pub fn notification_header_len(status: DocaError) -> usize {
    if is_long(status) { HEADER_LEN + 4 } else { HEADER_LEN }
}

#[inline]
fn is_long(status: DocaError) -> bool {
    status.0 >= u32::from(CUT)
}

/// The header of a notification with this payload, and how many bytes of the payload follow it, for
/// a status that [fits the header](notification_header_len). Words of eight zeros at the end of a
/// short payload do not travel if the status is success.
#[inline]
pub fn short_header(
    channel: u16,
    slot: u16,
    status: DocaError,
    payload: &[u8],
) -> ([u8; HEADER_LEN], usize) {
    debug_assert!(!is_long(status));
    if status == DocaError::SUCCESS && (MIN_CUT..=MAX_CUT).contains(&payload.len()) {
        let zeros = 8 * payload.rchunks_exact(8).take_while(|word| **word == [0; 8]).count();
        if zeros > 0 {
            let sent = payload.len() - zeros;
            return (Header::new(channel, slot, CUT, sent | payload.len() << 8).bytes(), sent);
        }
    }
    (Header::new(channel, slot, status.0 as u8, payload.len()).bytes(), payload.len())
}

/// The same for any status and payload: the header, how many bytes of it count, and how many bytes
/// of the payload follow.
#[inline]
pub fn notification_header(
    channel: u16,
    slot: u16,
    status: DocaError,
    payload: Option<&[u8]>,
) -> ([u8; HEADER_LEN + 4], usize, usize) {
    let mut bytes = [0; HEADER_LEN + 4];
    if let Some(payload) = payload
        && !is_long(status)
    {
        let (header, sent) = short_header(channel, slot, status, payload);
        bytes[..HEADER_LEN].copy_from_slice(&header);
        return (bytes, HEADER_LEN, sent);
    }
    let len = payload.map_or(0, <[u8]>::len);
    bytes[..HEADER_LEN].copy_from_slice(&Header::new(channel, slot, LONG_STATUS, len).bytes());
    // Without its top bit it would become another status, perhaps success.
    let status = if status.0 > MAX_STATUS { DocaError::UNEXPECTED } else { status };
    // Distinguishes a notification without payload from one with a payload of zero bytes.
    let absent = if payload.is_none() { NO_PAYLOAD } else { 0 };
    bytes[HEADER_LEN..].copy_from_slice(&(status.0 | absent).to_le_bytes());
    (bytes, HEADER_LEN + 4, len)
}

/// How many bytes the header of an explained notification takes.
pub const EXPLAINED_HEADER: usize = HEADER_LEN + 4 + 2;

/// The header of a notification that says why its command failed: `payload` bytes of the plugin's
/// follow it, and then a text of `why` bytes.
pub fn explained_header(
    channel: u16,
    slot: u16,
    status: DocaError,
    payload: Option<usize>,
    why: u16,
) -> [u8; EXPLAINED_HEADER] {
    let mut bytes = [0; EXPLAINED_HEADER];
    let status = if status.0 > MAX_STATUS { DocaError::UNEXPECTED } else { status };
    let absent = if payload.is_none() { NO_PAYLOAD } else { 0 };
    let len = payload.unwrap_or(0) + usize::from(why);
    bytes[..HEADER_LEN].copy_from_slice(&Header::new(channel, slot, LONG_STATUS, len).bytes());
    bytes[HEADER_LEN..][..4].copy_from_slice(&(status.0 | absent | EXPLAINED).to_le_bytes());
    bytes[HEADER_LEN + 4..].copy_from_slice(&why.to_le_bytes());
    bytes
}

/// The bit of a long status that says there is no payload. DOCA's codes are small numbers.
const NO_PAYLOAD: u32 = 1 << 31;
/// The bit of a long status that says that a text follows the payload, and its length the status.
const EXPLAINED: u32 = 1 << 30;

/// The commands in a message, in order. After an error there are no more.
#[inline]
pub fn commands(message: &[u8]) -> impl Iterator<Item = Result<Command<'_>, Broken>> {
    frames(message, |header, behind| {
        let (payload, behind) = behind.split_at_checked(header.len())?;
        let command = Command {
            channel: header.channel(),
            slot: header.slot(),
            plugin_bit: header.kind(),
            payload,
        };
        Some((command, behind))
    })
}

/// The notifications in a message, in order. After an error there are no more.
#[inline]
pub fn notifications(message: &[u8]) -> impl Iterator<Item = Result<Notification<'_>, Broken>> {
    frames(message, |header, behind| {
        let notification = |status, payload| Notification {
            channel: header.channel(),
            slot: header.slot(),
            status,
            payload,
            why: &[],
        };
        if header.kind() == CUT {
            let (sent, total) = (header.len() & 0xff, header.len() >> 8);
            let (bytes, behind) = behind.split_at_checked(sent)?;
            let payload = Payload::cut(bytes, total.checked_sub(sent)?)?;
            return Some((notification(DocaError::SUCCESS, Some(payload)), behind));
        }
        let (status, behind) = match header.kind() {
            LONG_STATUS => long_status(behind)?,
            status => (u32::from(status), behind),
        };
        if status & EXPLAINED != 0 {
            let (payload, why, behind) = explained(header.len(), status, behind)?;
            let status = DocaError(status & !(NO_PAYLOAD | EXPLAINED));
            return Some((Notification { why, ..notification(status, payload) }, behind));
        }
        let (bytes, behind) = behind.split_at_checked(header.len())?;
        let payload = (status & NO_PAYLOAD == 0).then_some(Payload::whole(bytes));
        Some((notification(DocaError(status & !NO_PAYLOAD), payload), behind))
    })
}

/// The payload, the text and what is behind them.
#[cold]
fn explained(
    len: usize,
    status: u32,
    behind: &[u8],
) -> Option<(Option<Payload<'_>>, &[u8], &[u8])> {
    let (why, behind) = behind.split_first_chunk()?;
    let (both, behind) = behind.split_at_checked(len)?;
    let payload = len.checked_sub(usize::from(u16::from_le_bytes(*why)))?;
    let (bytes, why) = both.split_at(payload);
    Some(((status & NO_PAYLOAD == 0).then_some(Payload::whole(bytes)), why, behind))
}

#[cold]
fn long_status(behind: &[u8]) -> Option<(u32, &[u8])> {
    let (status, behind) = behind.split_first_chunk()?;
    Some((u32::from_le_bytes(*status), behind))
}

/// Walks a message; `read` returns a frame and the bytes behind it.
#[inline]
fn frames<'a, F>(
    message: &'a [u8],
    read: impl Fn(Header, &'a [u8]) -> Option<(F, &'a [u8])>,
) -> impl Iterator<Item = Result<F, Broken>> {
    let total = message.len();
    let mut rest = message;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let frame = rest.split_first_chunk();
        match frame.and_then(|(header, behind)| read(Header(u64::from_le_bytes(*header)), behind)) {
            Some((frame, behind)) => {
                rest = behind;
                Some(Ok(frame))
            }
            None => {
                let at = total - rest.len();
                rest = &[];
                Some(Err(Broken { at, total }))
            }
        }
    })
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
