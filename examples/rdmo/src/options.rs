//! The command line.

use clap::{Parser, ValueEnum};
use example_common::Common;

/// What the sample uses.
const PORT: u16 = 18515;

/// Appends to and scatters into a server's memory through its worker. Start it twice: as the
/// server, then as the client.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(crate) common: Common,

    /// Which end this is. The client needs no service.
    #[arg(short, long, value_enum)]
    pub(crate) mode: Mode,

    /// The client's server.
    #[arg(short, long, value_name = "NAME", required_if_eq("mode", "client"))]
    pub(crate) server_name: Option<String>,

    /// The server's TCP port. With 0 the system chooses one, which the server prints.
    #[arg(short, long, value_name = "PORT", default_value_t = PORT)]
    pub(crate) port: u16,

    /// The server registers its memory with UCX, as it does with NVIDIA's service, instead of
    /// sharing it with the worker.
    #[arg(long)]
    pub(crate) registered: bool,

    /// Measures appends of several sizes after that. Give it to both ends.
    #[arg(long)]
    pub(crate) perf: bool,

    /// How long the client measures each size, in milliseconds.
    #[arg(long, value_name = "MS", default_value = "500", requires = "perf")]
    pub(crate) time: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Has the memory.
    Server,
    /// Changes it.
    Client,
}

impl Mode {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Mode::Server => "server",
            Mode::Client => "client",
        }
    }
}
