//! A connection between two participants: one frame each way in every exchange.
//!
//! A frame is a head of 16 bytes (kind, number, length of the body; little-endian) and the body.
//! The first frame of a participant is its greeting, the answer to it is exchange 0, which is
//! empty.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};

use urom_abi::DocaError;

use super::super::Error;

const HEAD: usize = 16;

/// The longest reason that is sent or believed.
const MAX_REASON: usize = 1024;

/// A greeting: the number is the sender's index, the length is the number of participants.
const GREETING: [u8; 4] = *b"meet";
/// Blocks: the number is that of the exchange.
const BLOCKS: [u8; 4] = *b"data";
/// There are no more exchanges: the number is a DOCA code, the body says why.
const FAILED: [u8; 4] = *b"fail";

/// A frame of blocks.
pub(super) fn blocks(exchange: u32, blocks: &[u8]) -> Vec<u8> {
    frame(BLOCKS, exchange, blocks.len(), blocks)
}

fn frame(kind: [u8; 4], number: u32, length: usize, body: &[u8]) -> Vec<u8> {
    [&kind, &number.to_le_bytes()[..], &(length as u64).to_le_bytes(), body].concat()
}

/// A connection to participant `index`, and how far the exchange with it is.
pub(super) struct Peer {
    pub(super) index: u32,
    stream: TcpStream,
    sent: usize,
    /// The frame of the other end, as far as it is there.
    received: Vec<u8>,
}

impl Peer {
    pub(super) fn new(index: u32, stream: TcpStream) -> io::Result<Peer> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Peer { index, stream, sent: 0, received: Vec::new() })
    }

    /// Says who is at this end. The socket's buffer has room for it.
    pub(super) fn greet(&mut self, index: u32, participants: u32) -> io::Result<()> {
        self.stream.write_all(&frame(GREETING, index, participants as usize, &[]))
    }

    /// Reads who is at the other end: the index and the number of participants that a participant
    /// says, `None` while not all of it is there, an error for a stranger.
    pub(super) fn greeting(&mut self) -> Result<Option<(u32, u64)>, Error> {
        let is_whole = self.fill(HEAD)?;
        if !GREETING.starts_with(&self.received[..self.received.len().min(GREETING.len())]) {
            return Err(self.nonsense());
        }
        if !is_whole {
            return Ok(None);
        }
        let (number, length) = self.head();
        self.next_exchange();
        Ok(Some((number, length)))
    }

    /// Goes on sending a frame; whether all is sent.
    pub(super) fn send(&mut self, frame: &[u8]) -> Result<bool, Error> {
        while self.sent < frame.len() {
            match self.stream.write(&frame[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(self.gone(error)),
            }
        }
        Ok(true)
    }

    /// Goes on receiving the blocks of an exchange into `room`; whether they are all there. `own`
    /// is the index of this participant.
    pub(super) fn receive(
        &mut self,
        exchange: u32,
        room: &mut [u8],
        own: u32,
    ) -> Result<bool, Error> {
        let before = self.received.len();
        if !self.fill(HEAD)? {
            return Ok(false);
        }
        let (number, length) = self.head();
        let index = self.index;
        if self.received.starts_with(&FAILED) && length <= MAX_REASON as u64 {
            if !self.fill(HEAD + length as usize)? {
                return Ok(false);
            }
            let reason = String::from_utf8_lossy(&self.received[HEAD..]);
            let text = format!("participant {index} says: {reason}");
            return Err(Error::new(DocaError(number), text));
        }
        if !self.received.starts_with(&BLOCKS) || number != exchange {
            return Err(self.nonsense());
        }
        let wanted = room.len();
        if length != wanted as u64 {
            let text =
                format!("participant {index} gives {length} bytes, participant {own} {wanted}");
            return Err(Error::new(DocaError::INVALID_VALUE, text));
        }
        if before == HEAD + wanted {
            // One that was sent everything may leave.
            if self.sent == 0 {
                self.check()?;
            }
            return Ok(true);
        }
        let is_whole = self.fill(HEAD + wanted)?;
        if is_whole {
            room.copy_from_slice(&self.received[HEAD..]);
        }
        Ok(is_whole)
    }

    /// Says why there are no more exchanges, as far as the other end can understand it: not in the
    /// middle of another frame, of `length` bytes.
    pub(super) fn fail(&mut self, error: &Error, length: usize) {
        if self.sent == 0 || self.sent == HEAD + length {
            let reason = error.to_string();
            let reason = &reason.as_bytes()[..reason.len().min(MAX_REASON)];
            self.sent = 0;
            let _ = self.send(&frame(FAILED, error.code().0, reason.len(), reason));
        }
    }

    /// Whether an exchange of `sent` and `received` bytes waits for this participant.
    pub(super) fn is_late(&self, sent: usize, received: usize) -> bool {
        self.received.len() < HEAD + received || self.sent > 0 && self.sent < HEAD + sent
    }

    pub(super) fn next_exchange(&mut self) {
        self.sent = 0;
        self.received.clear();
    }

    /// An error when the other end is gone.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self.stream.peek(&mut [0]) {
            Ok(0) => Err(self.closed()),
            Err(error) if !is_for_later(&error) => Err(self.gone(error)),
            _ => Ok(()),
        }
    }

    pub(super) fn gone(&self, error: io::Error) -> Error {
        Error::io(format!("participant {} is gone", self.index), error)
    }

    fn closed(&self) -> Error {
        self.gone(io::Error::new(ErrorKind::UnexpectedEof, "it closed the connection"))
    }

    fn nonsense(&self) -> Error {
        let text = format!("participant {} sent what is no part of this exchange", self.index);
        Error::new(DocaError::UNEXPECTED, text)
    }

    /// The number and the length of the frame, whose head is there.
    fn head(&self) -> (u32, u64) {
        let number = self.received[4..8].try_into().unwrap_or_default();
        let length = self.received[8..HEAD].try_into().unwrap_or_default();
        (u32::from_le_bytes(number), u64::from_le_bytes(length))
    }

    /// Goes on reading the frame up to `length` bytes; whether they are there.
    fn fill(&mut self, length: usize) -> Result<bool, Error> {
        let missing = length.saturating_sub(self.received.len());
        match (&self.stream).take(missing as u64).read_to_end(&mut self.received) {
            Ok(_) if self.received.len() < length => Err(self.closed()),
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(self.gone(error)),
        }
    }
}

impl AsRawFd for Peer {
    fn as_raw_fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }
}

/// Whether a system call is to be tried again.
pub(super) fn is_for_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
