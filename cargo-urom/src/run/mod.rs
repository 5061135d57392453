//! `cargo urom run`: a service with a plugin.

use std::process::ExitCode;

/// The verb's arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args) -> anyhow::Result<ExitCode> {
    anyhow::bail!("not there yet")
}
