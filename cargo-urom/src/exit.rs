//! What the exit codes mean. Clap itself ends with 2 when the command line is wrong.

use std::process::ExitCode;

/// The verb did what it is for; `check` found nothing that keeps a service from taking the file.
pub(crate) const DONE: ExitCode = ExitCode::SUCCESS;

/// What was asked for makes no sense, as clap says it of what it finds itself.
pub(crate) const USAGE: u8 = 2;

/// It could not: the reason is on standard error. Also what `check` ends with when it found something.
pub(crate) const FAILED: ExitCode = ExitCode::FAILURE;
