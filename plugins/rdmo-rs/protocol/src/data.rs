//! The messages of the data path: active messages between initiators and the plugin, without a word
//! of UROM.
//!
//! An initiator sends a [`Request`] as the message's header, with the flag that asks for a way back
//! (`ucx::AmFlags::REPLY`), to the active-message handler [`AM_ID`] of the plugin's worker. The
//! data of an append and the [`Part`]s of a scatter are the message's data. Only a flush is
//! answered, with [`Flushed`] as the header of a message without data. Every length that was
//! received is checked before it is used.
//!
//! ```
//! use rdmo_protocol::data::{Operation, Request};
//!
//! let operation = Operation::Append { pointer: 0x1000, pointer_rkey: 7, data_rkey: 7 };
//! let append = Request { client: 0, fence: false, operation };
//! let mut room = Request::ROOM;
//! let header = append.header(&mut room);
//! assert_eq!((header.len(), Request::read(header)), (40, Ok(append)));
//! ```

use thiserror::Error;

/// The id of the active messages of both directions.
pub const AM_ID: u16 = 0;

/// The longest header that is read, in bytes. Bytes behind those of the operation are ignored.
pub const LONGEST_HEADER: usize = 64;

/// The fixed part of a [`Part`].
const PART: usize = 24;

/// The flag of a request that waits for those before it, above the operation's 32 bits.
const FENCE: u64 = 1 << 32;

/// Why bytes are no message of the data path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Malformed {
    /// A header of this length, where an operation needs more.
    #[error("a header of {0} bytes is too short")]
    Short(usize),
    /// A header of this length.
    #[error("a header of {0} bytes is longer than {LONGEST_HEADER}")]
    Long(usize),
    /// No operation has this number.
    #[error("there is no operation {0}: 0 flushes, 1 appends, 2 scatters")]
    Operation(u32),
    /// A scatter with so many parts, of which this one is not all there, counted from 0.
    #[error("part {part} of {count} goes beyond the end of a scatter's data")]
    Part {
        /// Which.
        part: u64,
        /// How many the header announces.
        count: u64,
    },
    /// A part of a scatter with so many bytes.
    #[error("a part of a scatter has at most 65535 bytes, this one has {0}")]
    LongPart(usize),
}

/// What an initiator asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The number of the client whose memory is meant.
    pub client: u64,
    /// Whether it starts only when everything before it, from this initiator, is done.
    pub fence: bool,
    /// What to do.
    pub operation: Operation,
}

/// What to do with a client's memory. A key (`rkey`) is the number in the answer to `MrReg`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Waits until all data of the client has arrived, writes the pointers to its memory, then
    /// answers.
    Flush {
        /// The answer repeats it.
        flush_id: u64,
    },
    /// Writes the message's data where a pointer in the client's memory points, and advances the
    /// pointer by their length. The client sees the pointer advance after a flush; in memory that
    /// is mapped in the worker, as soon as the data is there.
    Append {
        /// Where the 64-bit pointer is.
        pointer: u64,
        /// The key of the region with the pointer.
        pointer_rkey: u64,
        /// The key of the region that it points to.
        data_rkey: u64,
    },
    /// Writes the parts in the message's data.
    Scatter {
        /// How many there are.
        count: u64,
    },
}

impl Request {
    /// Room for any header.
    pub const ROOM: [u8; 40] = [0; 40];

    /// Writes the header.
    pub fn header<'a>(&self, room: &'a mut [u8; 40]) -> &'a [u8] {
        let (operation, [a, b, c], len) = match self.operation {
            Operation::Flush { flush_id } => (0, [flush_id, 0, 0], 24),
            Operation::Append { pointer, pointer_rkey, data_rkey } => {
                (1, [pointer, pointer_rkey, data_rkey], 40)
            }
            Operation::Scatter { count } => (2, [count, 0, 0], 24),
        };
        let kind = operation | if self.fence { FENCE } else { 0 };
        for (place, word) in room.chunks_exact_mut(8).zip([self.client, kind, a, b, c]) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        &room[..len]
    }

    /// Reads a header.
    ///
    /// # Errors
    /// A length that is too short for the operation or over [`LONGEST_HEADER`], and an operation
    /// that does not exist. Flags that are not known are ignored.
    pub fn read(header: &[u8]) -> Result<Request, Malformed> {
        if header.len() > LONGEST_HEADER {
            return Err(Malformed::Long(header.len()));
        }
        let word = |at| word(header, at).ok_or(Malformed::Short(header.len()));
        let (client, kind) = (word(0)?, word(8)?);
        let operation = match kind as u32 {
            0 => Operation::Flush { flush_id: word(16)? },
            1 => Operation::Append {
                pointer: word(16)?,
                pointer_rkey: word(24)?,
                data_rkey: word(32)?,
            },
            2 => Operation::Scatter { count: word(16)? },
            other => return Err(Malformed::Operation(other)),
        };
        Ok(Request { client, fence: kind & FENCE != 0, operation })
    }
}

/// A part of a scatter: bytes and where they go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
    /// Where the bytes go.
    pub address: u64,
    /// The key of the region there.
    pub rkey: u64,
    /// The bytes.
    pub data: &'a [u8],
}

impl<'a> Part<'a> {
    /// Writes the part behind others. It need not be aligned.
    ///
    /// # Errors
    /// [`Malformed::LongPart`], and nothing is written.
    pub fn write(&self, data: &mut Vec<u8>) -> Result<(), Malformed> {
        let len = self.data.len();
        let len = u16::try_from(len).map_err(|_| Malformed::LongPart(len))?;
        for word in [self.address, self.rkey, len.into()] {
            data.extend_from_slice(&word.to_le_bytes());
        }
        data.extend_from_slice(self.data);
        Ok(())
    }

    /// Reads all parts of a scatter. What is behind the last one is ignored.
    ///
    /// # Errors
    /// [`Malformed::Part`] for the first that is not all there.
    pub fn read_all(count: u64, mut data: &'a [u8]) -> Result<Vec<Part<'a>>, Malformed> {
        let read = |part| {
            let cut = Malformed::Part { part, count };
            let (head, rest) = data.split_at_checked(PART).ok_or(cut)?;
            let [address, rkey, len] = [0, 8, 16].map(|at| word(head, at).unwrap_or_default());
            // Behind the length are six bytes of C's padding.
            let (bytes, behind) = rest.split_at_checked((len as u16).into()).ok_or(cut)?;
            data = behind;
            Ok(Part { address, rkey, data: bytes })
        };
        (0..count).map(read).collect()
    }
}

/// The answer to a flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flushed {
    /// The request's.
    pub flush_id: u64,
}

impl Flushed {
    /// The header: 12 bytes, so that the id in it is not aligned.
    pub fn header(self) -> [u8; 12] {
        let mut header = [0; 12];
        header[4..].copy_from_slice(&self.flush_id.to_le_bytes());
        header
    }

    /// Reads a header; `None` for one that answers no flush.
    pub fn read(header: &[u8]) -> Option<Flushed> {
        let flush_id = header.strip_prefix(&[0; 4])?.try_into().ok()?;
        Some(Flushed { flush_id: u64::from_le_bytes(flush_id) })
    }
}

/// The little-endian word at `at`.
fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|word| u64::from_le_bytes(*word))
}
