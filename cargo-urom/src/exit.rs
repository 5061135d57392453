//! What the exit codes mean.

use std::fmt;

/// The verb did what it is for; `check` found nothing that keeps a service from taking the file.
pub(crate) const DONE: u8 = 0;

/// It could not: the reason is on standard error. Also what `check` ends with when it found
/// something.
pub(crate) const FAILED: u8 = 1;

/// What was asked for makes no sense. Clap ends with this code, too, when the command line is
/// wrong.
pub(crate) const USAGE: u8 = 2;

/// Why what was asked for makes no sense.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Usage(String);

/// An error of whoever wrote the command line, or the commands.
pub(crate) fn usage(why: impl fmt::Display) -> anyhow::Error {
    Usage(why.to_string()).into()
}

/// Whether an error is one of [`usage`].
pub(crate) fn is_usage(error: &anyhow::Error) -> bool {
    error.is::<Usage>()
}
