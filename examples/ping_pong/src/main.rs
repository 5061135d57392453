//! Two processes, each with a worker that runs the sandbox plugin, send a message back and forth
//! between their workers.
//!
//! This is DOCA's sample `urom_ping_pong` in Rust, with more to measure. `mpirun -np 2 ping_pong`
//! starts it; without a launcher, start it twice:
//!
//! ```text
//! ping_pong --rendezvous localhost:7000 --rank 0 &
//! ping_pong --rendezvous localhost:7000 --rank 1
//! ```
//!
//! Either way both processes may use one service, or each one of its own, embedded or not. Rank 1,
//! the client, prints what it measured.

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
    // Before the meeting, so that --help needs no launcher.
    let options = Options::parse();
    options.common.install_log(env!("CARGO_CRATE_NAME"));
    example_common::run("ping_pong", &options.meeting, |launch| {
        run::run(&options, launch)?;
        info!("Sample finished successfully");
        Ok(())
    })
}
