//! `cargo urom build`: the plugin crate's .so, named, stripped and checked.

// `cross::prepare(triple, ucx)`, with `ucx::is_linked` and cargo's target directory for the second.
#[expect(dead_code, reason = "the verb that calls it comes next")]
pub(crate) mod cross;
#[cfg_attr(not(test), expect(dead_code, reason = "the verb that calls it comes next"))]
mod ucx;

use std::process::ExitCode;

/// The verb's arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args) -> anyhow::Result<ExitCode> {
    anyhow::bail!("not there yet")
}
