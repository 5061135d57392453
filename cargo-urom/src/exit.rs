//! What the exit codes mean. Clap itself ends with 2 when the command line is wrong.

use std::fmt;
use std::process::ExitCode;

/// The verb did what it is for; `check` found nothing that keeps a service from taking the file.
pub(crate) const DONE: ExitCode = ExitCode::SUCCESS;

/// What was asked for makes no sense, as clap says it of what it finds itself.
pub(crate) const USAGE: u8 = 2;

/// It could not: the reason is on standard error. Also what `check` ends with when it found something.
pub(crate) const FAILED: ExitCode = ExitCode::FAILURE;

/// Why what was asked for makes no sense.
#[derive(Debug)]
struct Usage(String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// An error of whoever wrote the command line, or the commands.
pub(crate) fn usage(why: impl fmt::Display) -> anyhow::Error {
    Usage(why.to_string()).into()
}

/// Whether an error is one of [`usage`].
pub(crate) fn is_usage(error: &anyhow::Error) -> bool {
    error.is::<Usage>()
}

/// What the program ends with because of an error.
pub(crate) fn of(error: &anyhow::Error) -> ExitCode {
    if is_usage(error) { USAGE.into() } else { FAILED }
}
