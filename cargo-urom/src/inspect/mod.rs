//! `cargo urom inspect`: what a file says of its protocol.

use std::process::ExitCode;

/// The verb's arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args) -> anyhow::Result<ExitCode> {
    anyhow::bail!("not there yet")
}
