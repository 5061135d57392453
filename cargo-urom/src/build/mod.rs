//! `cargo urom build`: the plugin crate's .so, named, stripped and checked.

use std::process::ExitCode;

/// The verb's arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args) -> anyhow::Result<ExitCode> {
    anyhow::bail!("not there yet")
}
