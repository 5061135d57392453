//! What a task ended with, as plain bytes.

use urom_abi::DocaError;

/// What a task ended with, in memory of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawReply {
    /// The notification's status, or why there was none.
    pub status: DocaError,
    /// The notification's bytes; `None` when the task ended without one.
    pub bytes: Option<Vec<u8>>,
    /// Why the command failed, in the words of its plugin or its worker; empty when nobody said so.
    pub why: String,
}
