//! A recording as the steps of a replay.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;

use crate::{Entry, ReadError, RecordedId, RecordingReader};

/// Limit in bytes of all memory of a replay: the file determines its lengths.
const MOST_MEMORY: u64 = 1 << 32;

/// A step of a replay. `at` is the time in nanoseconds since the recording began, and `number` the
/// number of a command, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// The contents of memory that the next command names.
    Memory {
        /// The memory.
        memory: RecordedMemory,
        /// Offset of the bytes in the memory.
        offset: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// The host sends a command.
    Command {
        /// The time.
        at: u64,
        /// The command's number.
        number: u64,
        /// The host.
        host: u64,
        /// Its bytes, without a header.
        bytes: Vec<u8>,
    },
    /// The command is answered before the next step.
    Answer {
        /// The time.
        at: u64,
        /// The command's number.
        number: u64,
        /// The code of `doca_error_t`; 0 for success.
        status: u32,
        /// The notification without a header, if the plugin answered.
        payload: Option<Vec<u8>>,
        /// The text of a failure.
        text: String,
    },
    /// The host cancels a command, or its deadline passes.
    Cancel {
        /// The time.
        at: u64,
        /// The command's number.
        number: u64,
        /// Whether its deadline passed.
        is_late: bool,
    },
    /// The host disconnects.
    HostLeft {
        /// The time.
        at: u64,
        /// The host.
        host: u64,
    },
}

/// Memory of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordedMemory {
    /// The host.
    pub host: u64,
    /// The number in the host's commands.
    pub memory: u64,
}

/// The extent of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordingExtent {
    /// The number of commands.
    pub commands: u64,
    /// The most commands that were in flight together.
    pub most_in_flight: usize,
    /// Recorded memory, with the end of its last recorded byte, up to 4 GiB in all.
    pub memory: BTreeMap<RecordedMemory, u64>,
    /// The longest command or answer, in bytes.
    pub longest: usize,
    /// Commands whose deadline passed, by number, with its time in nanoseconds after their receipt.
    pub late: BTreeMap<u64, u64>,
    /// The number of missing entries: the disk was too slow.
    pub lost: u64,
    /// Whether the last entry is incomplete.
    pub is_cut: bool,
}

/// Reads the steps for one plugin, and all recorded memory. Entries of commands that the recording
/// lacks are left out.
#[derive(Debug)]
pub struct Steps<R> {
    reader: RecordingReader<R>,
    plugin: u64,
    in_flight: HashMap<RecordedId, u64>,
    last: u64,
    lost: u64,
}

impl<R: Read> Steps<R> {
    /// `plugin` is the id of a plugin in the header.
    pub fn new(reader: RecordingReader<R>, plugin: u64) -> Steps<R> {
        Steps { reader, plugin, in_flight: HashMap::new(), last: 0, lost: 0 }
    }

    /// Returns the next step; `None` at the end.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn step(&mut self) -> Result<Option<Step>, ReadError> {
        while let Some(entry) = self.reader.entry()? {
            let step = match entry {
                Entry::Command { at, id, plugin, bytes } if plugin == self.plugin => {
                    self.last += 1;
                    self.in_flight.insert(id, self.last);
                    let (number, host, bytes) = (self.last, id.host, bytes.into_owned());
                    Some(Step::Command { at, number, host, bytes })
                }
                Entry::Answer { at, id, status, payload, text } => {
                    self.in_flight.remove(&id).map(|number| {
                        let (payload, text) = (payload.map(Vec::from), text.into_owned());
                        Step::Answer { at, number, status, payload, text }
                    })
                }
                Entry::Cancel { at, id, is_late } => {
                    let number = self.in_flight.get(&id).copied();
                    number.map(|number| Step::Cancel { at, number, is_late })
                }
                Entry::HostLeft { at, host } => {
                    self.in_flight.retain(|id, _| id.host != host);
                    Some(Step::HostLeft { at, host })
                }
                Entry::Memory { host, memory, offset, bytes, .. } => {
                    let (memory, bytes) = (RecordedMemory { host, memory }, bytes.into_owned());
                    Some(Step::Memory { memory, offset, bytes })
                }
                Entry::Lost { count, .. } => {
                    self.lost = self.lost.saturating_add(count);
                    None
                }
                Entry::Command { .. } => None,
            };
            if step.is_some() {
                return Ok(step);
            }
        }
        Ok(None)
    }

    /// Reads all steps, and returns their extent.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn extent(mut self) -> Result<RecordingExtent, ReadError> {
        let (mut extent, mut sent) = (RecordingExtent::default(), HashMap::new());
        while let Some(step) = self.step()? {
            match step {
                Step::Command { at, number, bytes, .. } => {
                    extent.most_in_flight = extent.most_in_flight.max(self.in_flight.len());
                    extent.longest = extent.longest.max(bytes.len());
                    sent.insert(number, at);
                }
                Step::Answer { number, payload, .. } => {
                    extent.longest = extent.longest.max(payload.map_or(0, |bytes| bytes.len()));
                    sent.remove(&number);
                }
                Step::Cancel { at, number, is_late: true } => {
                    let sent = sent.get(&number).copied().unwrap_or(at);
                    extent.late.insert(number, at.saturating_sub(sent));
                }
                Step::Memory { memory, offset, bytes } => {
                    let end = extent.memory.entry(memory).or_default();
                    *end = offset.saturating_add(bytes.len() as u64).max(*end);
                }
                _ => {}
            }
        }
        let mut total = 0_u64;
        extent.memory.retain(|_, len| {
            total = total.saturating_add(*len);
            total <= MOST_MEMORY
        });
        Ok(RecordingExtent {
            commands: self.last,
            lost: self.lost,
            is_cut: self.reader.is_cut(),
            ..extent
        })
    }
}
