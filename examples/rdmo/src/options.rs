//! The command line.

use clap::{Parser, ValueEnum};
use example_common::Common;

/// The sample's port.
const PORT: u16 = 18515;

/// Appends to and scatters into a server's memory. Start the server first, then the client.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(crate) common: Common,

    /// The role of this process. The client does not need a service.
    #[arg(short, long, value_enum)]
    pub(crate) mode: Mode,

    /// The client's server.
    #[arg(short, long, value_name = "NAME", required_if_eq("mode", "client"))]
    pub(crate) server_name: Option<String>,

    /// The server's TCP port. With 0 the system chooses a port, which the server prints.
    #[arg(short, long, value_name = "PORT", default_value_t = PORT)]
    pub(crate) port: u16,

    /// Registers the server's memory with UCX, as for NVIDIA's service, instead of sharing it.
    #[arg(long)]
    pub(crate) registered: bool,

    /// Then measures appends of several sizes. Needed in both processes.
    #[arg(long)]
    pub(crate) perf: bool,

    /// Duration of the client's measurement of each size, in milliseconds.
    #[arg(long, value_name = "MS", default_value = "500", requires = "perf")]
    pub(crate) time: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Provides the memory.
    Server,
    /// Changes the memory.
    Client,
}
