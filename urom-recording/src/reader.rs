//! Reads recordings. The bytes may be cut or damaged.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use serde::Deserialize;

use crate::{Entry, FORMAT, LONGEST_FRAME, MAGIC, RecordingHeader};

/// The reason why a recording cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file cannot be read.
    #[error("cannot read the recording: {0}")]
    Io(#[from] io::Error),
    /// The file has other contents.
    #[error("this file is not a recording of a UROM worker")]
    NotARecording,
    /// Another release wrote the file.
    #[error(
        "the recording has format {found}, and this release reads format {FORMAT}: use the release \
         of the service that wrote it"
    )]
    Format {
        /// Its format.
        found: u8,
    },
    /// The bytes are not those of a recording.
    #[error("the recording is damaged at byte {at}: {problem}")]
    Damaged {
        /// The offset of the damaged frame.
        at: u64,
        /// The problem.
        problem: String,
    },
}

/// Reads a recording entry by entry.
#[derive(Debug)]
pub struct RecordingReader<R> {
    from: R,
    header: RecordingHeader,
    at: u64,
    frame: Vec<u8>,
    is_cut: bool,
}

impl RecordingReader<BufReader<File>> {
    /// Opens a file.
    ///
    /// # Errors
    /// The file cannot be read, or is not a recording of this format.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        RecordingReader::new(BufReader::new(File::open(path)?))
    }
}

impl<R: Read> RecordingReader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// `from` fails, or is not a recording of this format.
    pub fn new(mut from: R) -> Result<RecordingReader<R>, ReadError> {
        let mut magic = [0; MAGIC.len() + 1];
        let is_whole = fill(&mut from, &mut magic)? == magic.len();
        if !is_whole || magic[..MAGIC.len()] != MAGIC {
            return Err(ReadError::NotARecording);
        }
        if magic[MAGIC.len()] != FORMAT {
            return Err(ReadError::Format { found: magic[MAGIC.len()] });
        }
        let header = RecordingHeader {
            started: 0,
            service: String::new(),
            worker: 0,
            group: 0,
            plugins: Vec::new(),
        };
        let at = magic.len() as u64;
        let mut reader = RecordingReader { from, header, at, frame: Vec::new(), is_cut: false };
        reader.header = match reader.next()? {
            Some(header) => header,
            None => {
                let problem = "it ends before its header does".to_owned();
                return Err(ReadError::Damaged { at, problem });
            }
        };
        Ok(reader)
    }

    /// Returns the recorded worker.
    pub fn header(&self) -> &RecordingHeader {
        &self.header
    }

    /// Returns the next entry; `None` at the end.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn entry(&mut self) -> Result<Option<Entry<'_>>, ReadError> {
        self.next()
    }

    /// Returns whether the recording ended within an entry, as that of a worker that crashed may.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    fn next<'a, T: Deserialize<'a>>(&'a mut self) -> Result<Option<T>, ReadError> {
        let at = self.at;
        let mut len = [0; 4];
        let found = fill(&mut self.from, &mut len)?;
        let len = u32::from_le_bytes(len) as usize;
        if found < 4 {
            self.is_cut = found > 0;
            return Ok(None);
        }
        if len > LONGEST_FRAME {
            let problem = format!("a length of {len} bytes, above the limit {LONGEST_FRAME}");
            return Err(ReadError::Damaged { at, problem });
        }
        self.frame.clear();
        // Allocates no more than the file has.
        (&mut self.from).take(len as u64).read_to_end(&mut self.frame)?;
        if self.frame.len() < len {
            self.is_cut = true;
            return Ok(None);
        }
        self.at = at + 4 + len as u64;
        match postcard::take_from_bytes(&self.frame) {
            Ok((value, [])) => Ok(Some(value)),
            Ok((_, more)) => {
                let problem = format!("{} more bytes than its entry has", more.len());
                Err(ReadError::Damaged { at, problem })
            }
            Err(error) => Err(ReadError::Damaged { at, problem: error.to_string() }),
        }
    }
}

/// Reads until `bytes` are full or the end. Returns the number of bytes.
fn fill(from: &mut impl Read, bytes: &mut [u8]) -> io::Result<usize> {
    let mut found = 0;
    while found < bytes.len() {
        match from.read(&mut bytes[found..]) {
            Ok(0) => break,
            Ok(more) => found += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}
