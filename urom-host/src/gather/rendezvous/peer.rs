//! A connection between two participants: one frame each way in every exchange.
//!
//! A frame is a head of 16 bytes (kind, number, length of the body; little-endian) and the body.
//! The first frame of a participant is its greeting, the answer to it is exchange 0, which is
//! empty.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::Duration;

use urom_abi::DocaError;

use super::super::Error;
use crate::wait::poll_set::PollSet;

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
    received: usize,
    head: [u8; HEAD],
    reason: Vec<u8>,
}

impl Peer {
    pub(super) fn new(index: u32, stream: TcpStream) -> io::Result<Peer> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Peer { index, stream, sent: 0, received: 0, head: [0; HEAD], reason: Vec::new() })
    }

    /// Says who is at this end. The socket's buffer has room for it.
    pub(super) fn greet(&mut self, index: u32, participants: u32) -> io::Result<()> {
        self.stream.write_all(&frame(GREETING, index, participants as usize, &[]))
    }

    /// Reads who is at the other end: the index and the number of participants that a participant
    /// says, `None` while not all of it is there, an error for a stranger.
    pub(super) fn greeting(&mut self) -> io::Result<Option<(u32, u64)>> {
        let is_whole = fill(&mut self.stream, &mut self.head, &mut self.received)?;
        if !GREETING.starts_with(&self.head[..self.received.min(GREETING.len())]) {
            return Err(ErrorKind::InvalidData.into());
        }
        if !is_whole {
            return Ok(None);
        }
        self.next_exchange();
        Ok(Some((self.number(), self.length())))
    }

    /// Goes on sending a frame; whether all is sent.
    pub(super) fn send(&mut self, frame: &[u8]) -> Result<bool, Error> {
        drain(&mut self.stream, frame, &mut self.sent).map_err(|error| self.gone(error))
    }

    /// Goes on receiving the blocks of an exchange into `room`; whether they are all there. `own`
    /// is the index of this participant.
    pub(super) fn receive(
        &mut self,
        exchange: u32,
        room: &mut [u8],
        own: u32,
    ) -> Result<bool, Error> {
        let before = self.received;
        if self.received < HEAD
            && !fill(&mut self.stream, &mut self.head, &mut self.received)
                .map_err(|error| self.gone(error))?
        {
            return Ok(false);
        }
        let (number, length) = (self.number(), self.length());
        if self.head.starts_with(&FAILED) && length <= MAX_REASON as u64 {
            return self.failure(number, length as usize).map(|()| false);
        }
        if !self.head.starts_with(&BLOCKS) || number != exchange {
            return Err(self.nonsense());
        }
        if length != room.len() as u64 {
            let (index, wanted) = (self.index, room.len());
            let text =
                format!("participant {index} gives {length} bytes, participant {own} {wanted}");
            return Err(Error::new(DocaError::INVALID_VALUE, text));
        }
        if before == HEAD + room.len() {
            // One that was sent everything may leave.
            if self.sent == 0 {
                self.check().map_err(|error| self.gone(error))?;
            }
            return Ok(true);
        }
        let mut filled = self.received - HEAD;
        let is_whole = fill(&mut self.stream, room, &mut filled);
        self.received = HEAD + filled;
        is_whole.map_err(|error| self.gone(error))
    }

    /// Goes on receiving why there are no more exchanges, which is an error once it is there.
    fn failure(&mut self, code: u32, length: usize) -> Result<(), Error> {
        self.reason.resize(length, 0);
        let mut filled = self.received - HEAD;
        let is_whole = fill(&mut self.stream, &mut self.reason, &mut filled);
        self.received = HEAD + filled;
        if is_whole.map_err(|error| self.gone(error))? {
            let reason = String::from_utf8_lossy(&self.reason);
            let text = format!("participant {} says: {reason}", self.index);
            return Err(Error::new(DocaError(code), text));
        }
        Ok(())
    }

    /// Says why there are no more exchanges, as far as the other end can understand it: not in the
    /// middle of another frame, of `length` bytes.
    pub(super) fn fail(&mut self, error: &Error, length: usize) {
        if self.sent == 0 || self.sent == HEAD + length {
            let reason = error.to_string();
            let reason = &reason.as_bytes()[..reason.len().min(MAX_REASON)];
            let frame = frame(FAILED, error.code().0, reason.len(), reason);
            let _ = drain(&mut self.stream, &frame, &mut 0);
        }
    }

    /// Whether an exchange of `sent` and `received` bytes waits for this participant.
    pub(super) fn is_late(&self, sent: usize, received: usize) -> bool {
        self.received < HEAD + received || self.sent > 0 && self.sent < HEAD + sent
    }

    pub(super) fn next_exchange(&mut self) {
        (self.sent, self.received) = (0, 0);
    }

    pub(super) fn check(&self) -> io::Result<()> {
        match self.stream.peek(&mut [0]) {
            Ok(0) => Err(closed()),
            Err(error) if !is_for_later(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Sleeps until something is there to read, for `limit` at most.
    pub(super) fn sleep(&self, limit: Duration) {
        let mut set = PollSet::take();
        self.watch(&mut set);
        set.poll(Some(limit));
    }

    pub(super) fn watch(&self, set: &mut PollSet) {
        set.add(self.stream.as_raw_fd());
    }

    pub(super) fn gone(&self, error: io::Error) -> Error {
        Error::io(format!("participant {} is gone", self.index), error)
    }

    fn nonsense(&self) -> Error {
        let text = format!("participant {} sent what is no part of this exchange", self.index);
        Error::new(DocaError::UNEXPECTED, text)
    }

    fn number(&self) -> u32 {
        u32::from_le_bytes(self.head[4..8].try_into().unwrap_or_default())
    }

    fn length(&self) -> u64 {
        u64::from_le_bytes(self.head[8..].try_into().unwrap_or_default())
    }
}

/// Goes on reading into `room`, of which `filled` bytes are there; whether it is full.
fn fill(stream: &mut TcpStream, room: &mut [u8], filled: &mut usize) -> io::Result<bool> {
    while *filled < room.len() {
        match stream.read(&mut room[*filled..]) {
            Ok(0) => return Err(closed()),
            Ok(count) => *filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Goes on writing `bytes`, of which `sent` are out; whether all are.
fn drain(stream: &mut TcpStream, bytes: &[u8], sent: &mut usize) -> io::Result<bool> {
    while *sent < bytes.len() {
        match stream.write(&bytes[*sent..]) {
            Ok(count) => *sent += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

fn closed() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "it closed the connection")
}

/// Whether a system call is to be tried again.
pub(super) fn is_for_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
