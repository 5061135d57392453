//! The messages of the data path: active messages between initiators and the plugin, independent of
//! UROM.
//!
//! An initiator sends a [`Request`] as the message's header, with the reply flag
//! (`ucx::AmFlags::REPLY`), to the active-message handler [`AM_ID`] of the plugin's worker. The
//! message's data is an append's data or a scatter's [`Part`]s. Only a flush is answered, with
//! [`Flushed`] as the header of a message without data. Every received length is checked before
//! use.
//!
//! ```
//! use rdmo_protocol::data::{Operation, Request};
//!
//! let operation = Operation::Append { pointer: 0x1000, pointer_rkey: 7, data_rkey: 7 };
//! let append = Request { client: 0, fence: false, operation };
//! let mut buffer = Request::BUFFER;
//! let header = append.header(&mut buffer);
//! assert_eq!((header.len(), Request::read(header)), (40, Ok(append)));
//! ```

use thiserror::Error;

/// The id of the active messages in both directions.
pub const AM_ID: u16 = 0;

/// The longest accepted header, in bytes. Bytes after the operation are ignored.
pub const LONGEST_HEADER: usize = 64;

/// The size of the fixed part of a [`Part`].
const PART: usize = 24;

/// The flag of a request that waits for earlier ones, above the operation's 32 bits.
const FENCE: u64 = 1 << 32;

/// Why bytes are not a valid message of the data path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Malformed {
    /// A header of this length, shorter than its operation.
    #[error("a header of {0} bytes is too short")]
    Short(usize),
    /// A header of this length.
    #[error("a header of {0} bytes is longer than {LONGEST_HEADER}")]
    Long(usize),
    /// An unknown operation.
    #[error("operation {0} does not exist: 0 flushes, 1 appends, 2 scatters")]
    Operation(u32),
    /// A scatter whose data ends inside this part, counted from 0.
    #[error("part {part} of {count} goes beyond the end of a scatter's data")]
    Part {
        /// The part's index.
        part: u64,
        /// The number of parts in the header.
        count: u64,
    },
    /// A part of a scatter with this number of bytes.
    #[error("a part of a scatter has at most 65535 bytes, this one has {0}")]
    LongPart(usize),
}

/// A request of an initiator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The number of the client that owns the memory.
    pub client: u64,
    /// Whether it waits until all earlier requests of this initiator are done.
    pub fence: bool,
    /// The operation.
    pub operation: Operation,
}

/// An operation on a client's memory. A key (`rkey`) is the number in the answer to `MrReg`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Waits until all data of the client has arrived, writes the pointers to its memory, then
    /// answers.
    Flush {
        /// An id that the answer repeats.
        flush_id: u64,
    },
    /// Writes the message's data to the target of a pointer in the client's memory, and advances
    /// the pointer by their length. The client sees the new pointer after a flush; in memory mapped
    /// by the worker, as soon as the data is there.
    Append {
        /// The address of the 64-bit pointer.
        pointer: u64,
        /// The key of the region with the pointer.
        pointer_rkey: u64,
        /// The key of the region that it points to.
        data_rkey: u64,
    },
    /// Writes the parts in the message's data.
    Scatter {
        /// The number of parts.
        count: u64,
    },
}

impl Request {
    /// A buffer for any header.
    pub const BUFFER: [u8; 40] = [0; 40];

    /// Writes the header.
    pub fn header<'a>(&self, buffer: &'a mut [u8; 40]) -> &'a [u8] {
        let (operation, [a, b, c], len) = match self.operation {
            Operation::Flush { flush_id } => (0, [flush_id, 0, 0], 24),
            Operation::Append { pointer, pointer_rkey, data_rkey } => {
                (1, [pointer, pointer_rkey, data_rkey], 40)
            }
            Operation::Scatter { count } => (2, [count, 0, 0], 24),
        };
        let kind = operation | if self.fence { FENCE } else { 0 };
        for (slot, word) in buffer.chunks_exact_mut(8).zip([self.client, kind, a, b, c]) {
            slot.copy_from_slice(&word.to_le_bytes());
        }
        &buffer[..len]
    }

    /// Reads a header; unknown flags are ignored.
    ///
    /// # Errors
    /// A length that is too short for the operation or over [`LONGEST_HEADER`], and an unknown
    /// operation.
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

/// A part of a scatter: bytes and their destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
    /// The destination.
    pub address: u64,
    /// The key of the destination's region.
    pub rkey: u64,
    /// The bytes.
    pub data: &'a [u8],
}

impl<'a> Part<'a> {
    /// Appends the part to others. Parts are not aligned.
    ///
    /// # Errors
    /// [`Malformed::LongPart`]; nothing is written.
    pub fn write(&self, data: &mut Vec<u8>) -> Result<(), Malformed> {
        let len = self.data.len();
        let len = u16::try_from(len).map_err(|_| Malformed::LongPart(len))?;
        for word in [self.address, self.rkey, len.into()] {
            data.extend_from_slice(&word.to_le_bytes());
        }
        data.extend_from_slice(self.data);
        Ok(())
    }

    /// Reads all parts of a scatter. Bytes after the last part are ignored.
    ///
    /// # Errors
    /// [`Malformed::Part`] for the first truncated part.
    pub fn read_all(count: u64, mut data: &'a [u8]) -> Result<Vec<Part<'a>>, Malformed> {
        let read = |part| {
            let cut = Malformed::Part { part, count };
            let (head, rest) = data.split_at_checked(PART).ok_or(cut)?;
            let [address, rkey, len] = [0, 8, 16].map(|at| word(head, at).unwrap_or_default());
            // C pads the length with six bytes.
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
    /// The request's id.
    pub flush_id: u64,
}

impl Flushed {
    /// Returns the header: 12 bytes, with an unaligned id.
    pub fn header(self) -> [u8; 12] {
        let mut header = [0; 12];
        header[4..].copy_from_slice(&self.flush_id.to_le_bytes());
        header
    }

    /// Reads a header; `None` if it does not answer a flush.
    pub fn read(header: &[u8]) -> Option<Flushed> {
        let flush_id = header.strip_prefix(&[0; 4])?.try_into().ok()?;
        Some(Flushed { flush_id: u64::from_le_bytes(flush_id) })
    }
}

/// Reads the little-endian word at `at`.
fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|word| u64::from_le_bytes(*word))
}
