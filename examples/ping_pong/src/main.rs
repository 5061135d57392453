//! Two processes send a message back and forth between their workers, which run the sandbox plugin.
//!
//! This is DOCA's sample `urom_ping_pong` in Rust, with more measurements. `mpirun -np 2 ping_pong`
//! starts it; without a launcher, start it twice:
//!
//! ```text
//! ping_pong --rendezvous localhost:7000 --rank 0 &
//! ping_pong --rendezvous localhost:7000 --rank 1
//! ```
//!
//! The processes may share a service. Rank 1, the client, prints the measurements.

mod buffers;
mod game;
mod message;
mod options;
mod partner;
mod report;
mod run;

use std::process::ExitCode;

use clap::Parser;
use tracing::info;

use options::Options;

fn main() -> ExitCode {
    // Before the connection, so --help does not need a launcher.
    let options = Options::parse();
    options.common.install_log(env!("CARGO_CRATE_NAME"));
    example_common::run("ping_pong", &options.meeting, |launch| {
        run::run(&options, launch)?;
        info!("Sample finished successfully");
        Ok(())
    })
}
