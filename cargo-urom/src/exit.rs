//! What the exit codes mean.

use std::fmt;

/// The verb succeeded. For `check`: the file has no errors.
pub(crate) const DONE: u8 = 0;

/// The verb failed: the reason is on standard error. For `check`: the file has errors.
pub(crate) const FAILED: u8 = 1;

/// The command line or a command is wrong. Clap uses this code, too.
pub(crate) const USAGE: u8 = 2;

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Usage(String);

pub(crate) fn usage(why: impl fmt::Display) -> anyhow::Error {
    Usage(why.to_string()).into()
}

pub(crate) fn is_usage(error: &anyhow::Error) -> bool {
    error.is::<Usage>()
}
