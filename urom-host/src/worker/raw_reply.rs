//! The result of a task, as bytes.

use urom_abi::DocaStatus;

/// The result of a task, in its own memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawReply {
    /// The notification's status, or the reason for its absence.
    pub status: DocaStatus,
    /// The notification's bytes; `None` without one.
    pub bytes: Option<Vec<u8>>,
    /// The plugin's or worker's reason for a failure; empty if unknown.
    pub why: String,
}
