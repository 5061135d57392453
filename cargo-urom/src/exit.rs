//! The exit codes.

use std::fmt;

/// The verb succeeded. For `check`: the file is correct.
pub(crate) const DONE: u8 = 0;

/// The verb failed, with a message on standard error. For `check`: the file has errors.
pub(crate) const FAILED: u8 = 1;

/// The command line or a command is wrong. Clap also uses this code.
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
