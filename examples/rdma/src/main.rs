//! Two processes, each with a worker that runs the RDMA plugin: every operation of DOCA RDMA
//! between their memories, and with `--perf` what the operations take, beside raw UCX.
//!
//! `mpirun -np 2 rdma` starts it; without a launcher, start it twice:
//!
//! ```text
//! rdma --rendezvous localhost:7000 --rank 0 &
//! rdma --rendezvous localhost:7000 --rank 1
//! ```
//!
//! Rank 1 asks, and prints the tables. Rank 0 has the memory and the receives, and checks what
//! arrived.

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

/// How long a step may take before the program gives up.
const LIMIT: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    // Before the meeting, so that --help needs no launcher.
    let options = Options::parse();
    options.common.install_log(env!("CARGO_CRATE_NAME"));
    example_common::run("rdma", &options.meeting, |launch| run(&options, launch))
}

fn run(options: &Options, launch: &Launch) -> anyhow::Result<()> {
    let other = Other::new(launch.gather());
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
