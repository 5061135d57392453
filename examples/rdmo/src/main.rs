//! A client changes a server's memory through the server's worker, which runs the RDMO plugin.
//!
//! This is DOCA's application `urom_rdmo` in Rust, with a measurement. The server is a UROM host;
//! the client uses only UCX. They exchange addresses over TCP:
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
use example_common::exit_code;
use ucx::{Context, Features, Worker};

use options::{Mode, Options};

const LIMIT: Duration = Duration::from_secs(30);

/// The bytes of an append, and of each part of a scatter.
const BYTES: [u8; 8] = [0x33; 8];

const PARTS: usize = 16;

fn main() -> ExitCode {
    let options = Options::parse();
    options.common.install_log(env!("CARGO_CRATE_NAME"));
    match options.mode {
        Mode::Server => exit_code("rdmo server", server::run(&options)),
        Mode::Client => exit_code("rdmo client", client::run(&options)),
    }
}

fn ucx_worker() -> ucx::Result<Worker> {
    let features = Features::AM | Features::RMA | Features::AMO64;
    // Below this length, a rendezvous is several times slower than sending directly.
    Context::builder(features)
        .config("TCP_PUT_ENABLE", "n")
        .config("RNDV_THRESH", "128k")
        .worker_with_exports()
}
