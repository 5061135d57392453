//! Two processes: a client appends to and scatters into the memory of a server, through the
//! server's worker, which runs the RDMO plugin.
//!
//! This is DOCA's application `urom_rdmo` in Rust, with a measurement. The server is a host
//! program; the client uses UCX and nothing of UROM. They exchange addresses over TCP:
//!
//! ```text
//! rdmo --mode server &
//! rdmo --mode client --server-name localhost
//! ```

mod client;
mod options;
mod perf;
mod queue;
mod server;
mod side;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use ucx::{Context, Features, Worker};

use options::{Mode, Options};

/// How long a step may take before the program gives up.
const LIMIT: Duration = Duration::from_secs(30);

/// The bytes of an append, and of each part of a scatter: what the memory has then.
const BYTES: [u8; 8] = [0x33; 8];

/// How many parts a scatter has.
const PARTS: usize = 16;

fn main() -> ExitCode {
    let options = Options::parse();
    options.common.install_log(env!("CARGO_CRATE_NAME"));
    let ended = match options.mode {
        Mode::Server => server::run(&options),
        Mode::Client => client::run(&options),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rdmo {}: {error:#}", options.mode.name());
            ExitCode::FAILURE
        }
    }
}

/// A UCX worker as both ends need it.
fn ucx_worker() -> ucx::Result<Worker> {
    let features = Features::AM | Features::RMA | Features::AMO64;
    // UCX announces messages from some KiB on. Up to this length that takes several times as long
    // as sending them.
    Context::builder(features)
        .config("TCP_PUT_ENABLE", "n")
        .config("RNDV_THRESH", "128k")
        .worker_with_exports()
}
