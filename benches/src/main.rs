//! Measures the kit against raw UCX: the same two processes, round by round in alternating order.
//!
//! `cargo xtask bench` runs it. For each transport it starts itself several times, because the placement of memory and
//! threads differs from launch to launch; each launch starts a `uromd`, one worker, and prints one line of JSON.

mod cache_line;
mod launch;
mod report;

use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, ensure};
use clap::Parser;

/// Measures loopback commands against raw UCX active messages of the same sizes.
#[derive(Parser)]
struct Arguments {
    /// How many times everything is started anew.
    #[arg(long, default_value_t = 5)]
    launches: usize,
    /// Fewer and shorter rounds: a first look, not a figure to quote.
    #[arg(long)]
    quick: bool,
    /// One launch in this process; what the program calls itself with.
    #[arg(long, hide = true)]
    launch: Option<Transport>,
}

/// What UCX may use between host and worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Transport {
    SharedMemory,
    Tcp,
}

impl Transport {
    /// The value of `UCX_TLS`.
    fn tls(self) -> &'static str {
        match self {
            Transport::SharedMemory => "self,sm",
            Transport::Tcp => "tcp",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Transport::SharedMemory => "shared-memory",
            Transport::Tcp => "tcp",
        }
    }
}

/// Fails when a budget is missed, too.
fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    if let Some(transport) = arguments.launch {
        let figures = launch::run(transport, arguments.quick)?;
        println!("{}", serde_json::to_string(&figures)?);
        return Ok(ExitCode::SUCCESS);
    }
    let launches = if arguments.quick { 2.min(arguments.launches) } else { arguments.launches };
    let mut figures = Vec::new();
    for launch in 1..=launches {
        for transport in [Transport::SharedMemory, Transport::Tcp] {
            eprintln!("launch {launch} of {launches}: {}", transport.name());
            figures.push(in_a_child(transport, arguments.quick)?);
        }
    }
    Ok(if report::print(&figures) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// One launch in a process of its own, so that UCX and the allocator start afresh.
fn in_a_child(transport: Transport, quick: bool) -> Result<launch::Figures> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let mut command = Command::new(program);
    command.args(["--launch", transport.name()]).env("UCX_TLS", transport.tls()).stderr(Stdio::inherit());
    if quick {
        command.arg("--quick");
    }
    let output = command.output().context("cannot start a launch")?;
    ensure!(output.status.success(), "a launch over {} failed: {}", transport.name(), output.status);
    serde_json::from_slice(&output.stdout).context("a launch printed something other than its figures")
}
