//! Messages: a text, or bytes that differ between rounds and processes.

use std::fmt;

use anyhow::{Result, bail, ensure};

use crate::options::Options;

#[derive(Debug)]
pub(crate) enum Message {
    /// The text with a final NUL, as in C.
    Text(Vec<u8>),
    Pattern(usize),
}

impl Message {
    pub(crate) fn of(options: &Options) -> Message {
        match options.size {
            Some(size) => Message::Pattern(size as usize),
            None => Message::Text([options.message.as_bytes(), &[0]].concat()),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Message::Text(text) => text.len(),
            Message::Pattern(len) => *len,
        }
    }

    pub(crate) fn write(&self, rank: u32, round: u32, bytes: &mut [u8]) {
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = self.byte(rank, round, at);
        }
    }

    pub(crate) fn check(&self, rank: u32, round: u32, bytes: &[u8]) -> Result<()> {
        let (len, own) = (bytes.len(), self.len());
        ensure!(len == own, "round {round}: {len} bytes came, {own} were expected");
        match bytes.iter().enumerate().find(|(at, byte)| **byte != self.byte(rank, round, *at)) {
            None => Ok(()),
            Some((at, byte)) => bail!(
                "round {round}: byte {at} of {len} is {byte:#04x}, {:#04x} was expected; both processes must be given the \
                 same message",
                self.byte(rank, round, at)
            ),
        }
    }

    /// Returns the byte at `at`. Neighbours and pages of a pattern differ.
    #[inline]
    fn byte(&self, rank: u32, round: u32, at: usize) -> u8 {
        match self {
            Message::Text(text) => text[at],
            Message::Pattern(_) => {
                let seed = (rank * 101 + round * 37 + 1) as usize;
                (seed + at * 7 + (at >> 8) * 13 + (at >> 16) * 17) as u8
            }
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Text(text) => f.write_str(&String::from_utf8_lossy(&text[..text.len() - 1])),
            Message::Pattern(len) => write!(f, "{len} bytes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_written_bytes_are_accepted() {
        for message in [Message::Pattern(5000), Message::Text(b"hello\0".to_vec())] {
            let mut bytes = vec![0; message.len()];
            message.write(1, 9, &mut bytes);
            message.check(1, 9, &bytes).unwrap();
            message.check(1, 9, &bytes[1..]).unwrap_err();
            let last = bytes.len() - 1;
            bytes[last] ^= 1;
            let error = message.check(1, 9, &bytes).unwrap_err();
            assert!(error.to_string().contains(&format!("byte {last} ")), "{error}");
        }
    }

    #[test]
    fn rounds_ranks_and_shifts_differ() {
        let message = Message::Pattern(600);
        let made = |rank, round| {
            let mut bytes = vec![0; 600];
            message.write(rank, round, &mut bytes);
            bytes
        };
        assert_ne!(made(0, 1), made(1, 1));
        assert_ne!(made(0, 1), made(0, 2));
        let mut shifted = made(0, 1);
        shifted.rotate_left(256);
        message.check(0, 1, &shifted).unwrap_err();
    }
}
