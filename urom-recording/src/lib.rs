//! Recordings of a worker: the commands that it received, and the answers.
//!
//! A file begins with 8 bytes, the last of which is the version of the format. Then follow frames:
//! four bytes of length, little-endian, and that many bytes of postcard. The first frame is the
//! [`RecordingHeader`], every other an [`Entry`]. A worker that crashes may leave the last frame
//! incomplete.

mod reader;
mod steps;
mod writer;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub use reader::{ReadError, RecordingReader};
pub use steps::{RecordedMemory, RecordingExtent, Step, Steps};
pub use writer::RecordingWriter;

const MAGIC: [u8; 7] = *b"UROMREC";

/// The version of the format that this release writes and reads.
pub const FORMAT: u8 = 1;

/// Limit in bytes of a frame. Messages between hosts and workers are shorter.
const LONGEST_FRAME: usize = 64 << 20;

/// A recorded worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingHeader {
    /// When the recording began, in nanoseconds since 1970.
    pub started: u64,
    /// The release of the service.
    pub service: String,
    /// The worker's id and group id.
    pub worker: u64,
    /// The worker's group id.
    pub group: u32,
    /// Its plugins.
    pub plugins: Vec<RecordedPlugin>,
}

/// A plugin of a recorded worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedPlugin {
    /// Its id, a single bit.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// The value of its `urom_plugin_get_version`.
    pub version: u64,
    /// The bytes of its description section, if it has one.
    pub description: Option<Vec<u8>>,
}

/// Identifies a command of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RecordedId {
    /// The host's number: `dest_id` of its commands.
    pub host: u64,
    /// `urom_context` of the command.
    pub token: u64,
}

/// An event. Times are nanoseconds since the recording began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Entry<'a> {
    /// The worker received a command.
    Command {
        /// The time of its receipt.
        at: u64,
        /// The command.
        id: RecordedId,
        /// The id of its plugin.
        plugin: u64,
        /// Its bytes, without a header.
        #[serde(borrow)]
        bytes: Cow<'a, [u8]>,
    },
    /// The worker answered a command.
    Answer {
        /// The time of the answer.
        at: u64,
        /// The command.
        id: RecordedId,
        /// The code of `doca_error_t`; 0 for success.
        status: u32,
        /// The notification without a header, if the plugin answered.
        #[serde(borrow)]
        payload: Option<Cow<'a, [u8]>>,
        /// The text of a failure.
        #[serde(borrow)]
        text: Cow<'a, str>,
    },
    /// The host cancelled a command, or its deadline passed.
    Cancel {
        /// The time.
        at: u64,
        /// The command.
        id: RecordedId,
        /// Whether its deadline passed.
        is_late: bool,
    },
    /// A host disconnected.
    HostLeft {
        /// The time.
        at: u64,
        /// The host.
        host: u64,
    },
    /// The contents of memory that the host's next command names.
    Memory {
        /// The time.
        at: u64,
        /// The host.
        host: u64,
        /// The memory's number in the host's commands.
        memory: u64,
        /// Offset of the bytes in the memory.
        offset: u64,
        /// The bytes.
        #[serde(borrow)]
        bytes: Cow<'a, [u8]>,
    },
    /// Entries are missing here: they were more than the disk took.
    Lost {
        /// The time.
        at: u64,
        /// Their number.
        count: u64,
    },
}

impl Entry<'_> {
    /// Copies the bytes of the entry.
    #[must_use]
    pub fn into_owned(self) -> Entry<'static> {
        match self {
            Entry::Command { at, id, plugin, bytes } => {
                Entry::Command { at, id, plugin, bytes: bytes.into_owned().into() }
            }
            Entry::Answer { at, id, status, payload, text } => {
                let payload = payload.map(|bytes| bytes.into_owned().into());
                Entry::Answer { at, id, status, payload, text: text.into_owned().into() }
            }
            Entry::Cancel { at, id, is_late } => Entry::Cancel { at, id, is_late },
            Entry::HostLeft { at, host } => Entry::HostLeft { at, host },
            Entry::Memory { at, host, memory, offset, bytes } => {
                Entry::Memory { at, host, memory, offset, bytes: bytes.into_owned().into() }
            }
            Entry::Lost { at, count } => Entry::Lost { at, count },
        }
    }

    /// Returns the time, in nanoseconds since the recording began.
    #[must_use]
    pub fn at(&self) -> u64 {
        match self {
            Entry::Command { at, .. }
            | Entry::Answer { at, .. }
            | Entry::Cancel { at, .. }
            | Entry::HostLeft { at, .. }
            | Entry::Memory { at, .. }
            | Entry::Lost { at, .. } => *at,
        }
    }
}
