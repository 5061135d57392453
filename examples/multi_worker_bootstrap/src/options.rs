//! The command line.

use clap::Parser;
use example_common::Common;

/// Starts four workers in two groups, sends each a loopback, and asks the service who is in which
/// group.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(crate) common: Common,

    /// Ends after one round instead of waiting for SIGINT or SIGTERM.
    #[arg(long)]
    pub(crate) once: bool,
}
