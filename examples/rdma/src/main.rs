//! Two processes with workers that run the RDMA plugin: every operation of DOCA RDMA between their
//! memories. With `--perf` it measures the operations, and raw UCX for comparison.
//!
//! `mpirun -np 2 rdma` starts it; without a launcher, start it twice:
//!
//! ```text
//! rdma --rendezvous localhost:7000 --rank 0 &
//! rdma --rendezvous localhost:7000 --rank 1
//! ```
//!
//! Rank 1 runs the operations and prints the tables. Rank 0 checks the results.

mod figures;
mod operations;
mod options;
mod other;
mod perf;
mod raw;
mod side;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use example_common::Launch;

use options::Options;
use other::Other;
use side::Side;

const LIMIT: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    // Before the connection, so --help does not need a launcher.
    let options = Options::parse();
    options.common.install_log(env!("CARGO_CRATE_NAME"));
    example_common::run("rdma", &options.meeting, |launch| run(&options, launch))
}

fn run(options: &Options, launch: &Launch) -> anyhow::Result<()> {
    let other = Other(launch.gather.clone());
    let side = Side::start(options, &other)?;
    let asks = launch.rank() == 1;
    if asks {
        print!("{}", operations::ask(&side, &other)?);
    } else {
        operations::answer(&side, &other)?;
    }
    if options.perf {
        perf::run(options, &side, &other, asks)?;
    }
    other.meet()
}
