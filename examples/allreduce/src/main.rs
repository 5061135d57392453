//! Several processes reduce a buffer on their workers: `mpirun -np 4 allreduce`.
//!
//! With `--perf` a table shows the times by size, `MPI_Allreduce` of the same buffers for
//! comparison, and the share of free processor time on the host.

mod member;
mod mpi;
mod perf;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Parser, value_parser};
use example_common::Common;
use urom_host::gather::{AllGather, Rendezvous};

use member::Member;

const LIMIT: Duration = Duration::from_secs(60);

/// Reduces a buffer of all processes on their workers, and checks the result.
///
/// Start it with PMIx, as by `mpirun -np 4`, or set UROM_RENDEZVOUS, UROM_RANK and UROM_SIZE.
#[derive(Debug, Parser)]
#[command(version)]
struct Options {
    #[command(flatten)]
    common: Common,

    /// Then measures each size, and MPI if it started the processes. Needed in all processes.
    #[arg(long)]
    perf: bool,

    /// Duration of each measurement, in milliseconds.
    #[arg(long, value_name = "MS", default_value = "300", requires = "perf")]
    #[arg(value_parser = value_parser!(u64).range(1..=60_000))]
    time: u64,
}

fn main() -> ExitCode {
    let options = Options::parse();
    options.common.install_log(env!("CARGO_CRATE_NAME"));
    example_common::exit_code("allreduce", run(&options))
}

fn run(options: &Options) -> Result<()> {
    // MPI_Init must precede UCX and threads.
    let mpi = options.perf.then(mpi::Mpi::start).flatten();
    let gather = Rendezvous::from_environment(LIMIT)
        .context("start it as `mpirun -np 4 allreduce`, or set UROM_RENDEZVOUS")?;
    let (rank, size) = (gather.index(), gather.participants());
    let member = Member::start(&options.common, gather)?;
    member.check()?;
    if rank == 0 {
        println!("{size} members: every result is right");
    }
    if options.perf {
        let table = perf::run(&member, mpi.as_ref(), Duration::from_millis(options.time))?;
        if rank == 0 {
            print!("{table}");
        }
    }
    member.stop()
}
