//! The command line.

use clap::{Parser, value_parser};
use example_common::{Common, Meeting};

/// Runs every operation of DOCA RDMA between the memories of two processes, through their workers.
///
/// Start it with `mpirun -np 2`, or twice with --rendezvous and --rank.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(crate) common: Common,

    #[command(flatten)]
    pub(crate) meeting: Meeting,

    /// Then measures latency and bandwidth, and raw UCX. Needed in both processes.
    #[arg(long)]
    pub(crate) perf: bool,

    /// Duration of each measurement, in milliseconds.
    #[arg(long, value_name = "MS", default_value = "300", requires = "perf")]
    #[arg(value_parser = value_parser!(u64).range(1..=60_000))]
    pub(crate) time: u64,

    /// Number of concurrent operations while bandwidth is measured.
    #[arg(long, value_name = "N", default_value = "32", requires = "perf")]
    #[arg(value_parser = value_parser!(u32).range(1..=256))]
    pub(crate) depth: u32,
}
