//! Writes recordings.

use std::io::{self, BufWriter, Write};

use serde::Serialize;

use crate::{Entry, FORMAT, LONGEST_FRAME, MAGIC, RecordingHeader};

/// Writes a recording, up to a limit.
///
/// Entries stay in memory until the writer is [flushed](Self::flush) or has some kilobytes.
#[derive(Debug)]
pub struct RecordingWriter<W: Write> {
    out: BufWriter<W>,
    /// Bytes that may still be written.
    left: u64,
    frame: Vec<u8>,
}

impl<W: Write> RecordingWriter<W> {
    /// Begins a recording of at most `limit` bytes, and flushes its header.
    ///
    /// # Errors
    /// The error of `out`, or `FileTooLarge` if the limit is too small for the header.
    pub fn new(out: W, header: &RecordingHeader, limit: u64) -> io::Result<RecordingWriter<W>> {
        let mut writer =
            RecordingWriter { out: BufWriter::new(out), left: limit, frame: Vec::new() };
        let magic = [&MAGIC[..], &[FORMAT]].concat();
        writer.left = writer.left.saturating_sub(magic.len() as u64);
        writer.out.write_all(&magic)?;
        match writer.frame(header)? {
            true => writer.flush().map(|()| writer),
            false => Err(io::ErrorKind::FileTooLarge.into()),
        }
    }

    /// Writes an entry. Returns `false`, and writes nothing, when the limit is reached.
    ///
    /// # Errors
    /// The error of the output, for example a full disk. The recording then ends with an incomplete
    /// frame.
    pub fn write(&mut self, entry: &Entry<'_>) -> io::Result<bool> {
        self.frame(entry)
    }

    /// Passes all entries on to the output, and flushes it.
    ///
    /// # Errors
    /// The error of the output.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn frame(&mut self, value: &impl Serialize) -> io::Result<bool> {
        let mut frame = std::mem::take(&mut self.frame);
        frame.clear();
        frame = postcard::to_extend(value, frame).map_err(io::Error::other)?;
        let len = frame.len();
        let fits = len <= LONGEST_FRAME && self.left >= 4 + len as u64;
        if fits {
            self.left -= 4 + len as u64;
            self.out.write_all(&(len as u32).to_le_bytes())?;
            self.out.write_all(&frame)?;
        }
        self.frame = frame;
        Ok(fits)
    }
}
