//! Four workers in two groups, each with a thread and a progress engine, run loopbacks.
//!
//! This is DOCA's sample `urom_multi_workers_bootstrap` in Rust. It uses the service of the
//! environment (see `urom_host::Service::connect`) or of `--service`.

mod run;
mod table;
mod worker;

use std::process::ExitCode;

use clap::Parser;
use example_common::Common;

/// Starts four workers in two groups, sends each a loopback, and lists the workers of each group.
#[derive(Debug, Parser)]
#[command(version)]
struct Options {
    #[command(flatten)]
    common: Common,

    /// Ends after one round, without waiting for SIGINT or SIGTERM.
    #[arg(long)]
    once: bool,
}

fn main() -> ExitCode {
    let options = Options::parse();
    options.common.install_log(env!("CARGO_CRATE_NAME"));
    let result = run::run(&options);
    let how = if result.is_ok() { "successfully" } else { "with errors" };
    let code = example_common::exit_code("multi_worker_bootstrap", result);
    println!("Sample finished {how}");
    code
}
