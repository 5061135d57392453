//! The command line of `cargo urom call`.

use std::path::PathBuf;

use clap::builder::{NonEmptyStringValueParser, RangedU64ValueParser};
use urom_abi::{WORKER_ID_ANY, WorkerId};
use urom_service::{MAX_MAX_MESSAGE, MIN_MAX_MESSAGE};

use super::memory::{MemoryOption, SaveOption};

pub(super) const MOST_WORKERS: usize = 256;

#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("help.txt"))]
pub(crate) struct CallArgs {
    /// The plugin: its .so, or its name. A name is searched in UROM_PLUGIN_PATH, also with
    /// --service: that file describes the commands.
    #[arg(value_name = "FILE.so|NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(super) plugin: String,
    /// The command and its fields; loopback, Loopback and loop-back are the same. `+` separates
    /// commands; `-` or @FILE reads one line of commands at a time. Otherwise lists commands.
    #[arg(value_name = "COMMAND [FIELD=VALUE].. [+ ..]", conflicts_with = "raw")]
    pub(super) words: Vec<String>,
    /// The service, unless in this process: its address, or @FILE of uromd --address-file.
    #[arg(long, value_name = "ADDR:PORT|@FILE")]
    pub(super) service: Option<String>,
    /// A copy of the service's key file, of this user, with mode 0600; default: UROM_KEY_FILE.
    #[arg(long, value_name = "FILE", requires = "service")]
    pub(super) key_file: Option<PathBuf>,
    /// A plugin of the same protocol whose file describes the commands: for plugins in C, and for
    /// plugins that exist only on the service's machine.
    #[arg(long, value_name = "FILE.so")]
    pub(super) protocol: Option<PathBuf>,
    /// Bytes, including the tag, instead of a command and its fields: hex:.., @file or text.
    #[arg(long, value_name = "BYTES")]
    pub(super) raw: Option<String>,
    /// The worker to send it to, which is started unless it runs; default: a new worker. A worker
    /// ends when its last host leaves, and this command is a host.
    #[arg(long, value_name = "ID", allow_negative_numbers = true, value_parser = worker_id)]
    pub(super) worker: Option<WorkerId>,
    /// Starts N workers in one domain.
    #[arg(long, value_name = "N", allow_negative_numbers = true, conflicts_with = "worker",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=MOST_WORKERS as u64))]
    pub(super) workers: Option<usize>,
    /// Timeout for an answer, in seconds.
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, default_value_t = 10,
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(super) timeout: u64,
    /// Maximum message size in bytes, with 24 or 32 for UROM's header. The service has its own.
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true,
        value_parser = RangedU64ValueParser::<usize>::new()
            .range(MIN_MAX_MESSAGE as u64..=MAX_MAX_MESSAGE as u64))]
    pub(super) max_msg_size: Option<usize>,
    /// Memory for commands: NAME=SIZE allocates zeros, such as 4096, 4K or 1M, and NAME=@FILE reads
    /// a file. Plugins may read and write it. It is printed at the end.
    #[arg(long, value_name = "NAME=SIZE|NAME=@FILE", conflicts_with = "raw")]
    pub(super) memory: Vec<MemoryOption>,
    /// As --memory, but read-only for plugins.
    #[arg(long, value_name = "NAME=SIZE|NAME=@FILE", conflicts_with = "raw")]
    pub(super) memory_read_only: Vec<MemoryOption>,
    /// Writes memory to a file at the end, instead of printing it.
    #[arg(long, value_name = "NAME=FILE")]
    pub(super) save: Vec<SaveOption>,
    /// Reports each worker's path to the memory: mapped, process or network.
    #[arg(long, short)]
    pub(super) verbose: bool,
    /// Prints JSON: an object for each command, and for each memory that is not saved.
    #[arg(long)]
    pub(super) json: bool,
}

fn worker_id(text: &str) -> Result<WorkerId, String> {
    let expected = "expected a number, or auto-N as a service's log names those it generated";
    match text.parse() {
        Ok(WorkerId(WORKER_ID_ANY)) => {
            Err("this id asks for a new worker: leave out --worker".to_owned())
        }
        Ok(id) => Ok(id),
        Err(error) => Err(format!("{error}: {expected}")),
    }
}
