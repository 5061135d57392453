//! What a task ended with, as plain bytes.

use urom_abi::DocaError;

/// What a task ended with, in memory of its own.
///
/// ```
/// use urom_host::{Answer, DocaError};
///
/// fn show(answer: &Answer) {
///     match (&answer.bytes, answer.status) {
///         (Some(bytes), DocaError::SUCCESS) => println!("{} bytes", bytes.len()),
///         (Some(bytes), status) => println!("refused ({status}), {} bytes", bytes.len()),
///         (None, status) => println!("no notification came: {status}"),
///     }
/// }
/// show(&Answer { status: DocaError::CONNECTION_RESET, bytes: None });
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The notification's status, or why there was none.
    pub status: DocaError,
    /// The notification's bytes; `None` when the task ended without one.
    pub bytes: Option<Vec<u8>>,
}
