//! A connection between two participants: one frame each way in every exchange. A frame is a
//! 16-byte header (kind, number, body length; little-endian) and the body. A participant's first
//! frame is its hello; the answer is the empty exchange 0.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};

use urom_abi::DocaError;

use super::super::Error;

const HEAD: usize = 16;

const MAX_REASON: usize = 1024;

/// A hello: the number is the sender's index, the body the number of participants as `u64`.
pub(super) const HANDSHAKE: [u8; 4] = *b"meet";
/// Blocks: the number is the exchange's.
pub(super) const BLOCKS: [u8; 4] = *b"data";
/// Ends the exchanges: the number is a DOCA code, the body the reason.
const FAILED: [u8; 4] = *b"fail";

pub(super) fn frame(kind: [u8; 4], number: u32, body: &[u8]) -> Vec<u8> {
    [&kind, &number.to_le_bytes()[..], &(body.len() as u64).to_le_bytes(), body].concat()
}

/// A connection to participant `index`, and the state of the exchange with it.
pub(super) struct Link {
    pub(super) index: u32,
    pub(super) stream: TcpStream,
    pub(super) sent: usize,
    received: Vec<u8>,
    pub(super) is_late: bool,
}

impl Link {
    pub(super) fn new(index: u32, stream: TcpStream) -> io::Result<Link> {
        stream.set_nodelay(true)?;
        Ok(Link { index, stream, sent: 0, received: Vec::new(), is_late: false })
    }

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

    /// Continues receiving a frame; returns its number once complete. `own` is this side's index.
    pub(super) fn receive(
        &mut self,
        kind: [u8; 4],
        length: usize,
        own: u32,
    ) -> Result<Option<u32>, Error> {
        let before = self.received.len();
        self.fill(HEAD)?;
        let Some(head) = self.received.first_chunk::<HEAD>() else { return Ok(None) };
        let head = u128::from_le_bytes(*head);
        let (number, found, index) = ((head >> 32) as u32, (head >> 64) as u64, self.index);
        if self.received.starts_with(&FAILED) && found <= MAX_REASON as u64 {
            if !self.fill(HEAD + found as usize)? {
                return Ok(None);
            }
            let text =
                format!("participant {index} says: {}", String::from_utf8_lossy(self.body()));
            return Err(Error::new(DocaError::from_code(number), text));
        }
        if !self.received.starts_with(&kind) {
            return Err(self.nonsense());
        }
        if found != length as u64 {
            let text =
                format!("participant {index} gives {found} bytes, participant {own} {length}");
            return Err(Error::new(DocaError::INVALID_VALUE, text));
        }
        // A participant that has received everything may leave.
        if before == HEAD + length && self.sent == 0 {
            self.check()?;
        }
        Ok(self.fill(HEAD + length)?.then_some(number))
    }

    pub(super) fn body(&self) -> &[u8] {
        self.received.get(HEAD..).unwrap_or_default()
    }

    /// Sends the reason for the end of the exchanges. Must not interrupt another frame.
    pub(super) fn tell(&mut self, error: &Error) {
        let reason = error.to_string();
        let reason = &reason.as_bytes()[..reason.len().min(MAX_REASON)];
        self.sent = 0;
        let _ = self.send(&frame(FAILED, error.code().code(), reason));
    }

    pub(super) fn next_exchange(&mut self) {
        self.sent = 0;
        self.received.clear();
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        match self.stream.peek(&mut [0]) {
            Ok(0) => Err(self.closed()),
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(self.gone(error)),
            _ => Ok(()),
        }
    }

    pub(super) fn gone(&self, error: io::Error) -> Error {
        Error::io(format!("participant {} has left", self.index), error)
    }

    fn closed(&self) -> Error {
        self.gone(io::Error::new(ErrorKind::UnexpectedEof, "it closed the connection"))
    }

    pub(super) fn nonsense(&self) -> Error {
        let text = format!("participant {} sent a message of another exchange", self.index);
        Error::new(DocaError::UNEXPECTED, text)
    }

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

impl AsRawFd for Link {
    fn as_raw_fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }
}
