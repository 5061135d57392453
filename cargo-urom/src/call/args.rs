//! What the command line says.

use std::path::PathBuf;

use clap::builder::{NonEmptyStringValueParser, RangedU64ValueParser};
use urom_abi::{WORKER_ID_ANY, WorkerId};
use urom_service::{MAX_MAX_MESSAGE, MIN_MAX_MESSAGE};

use super::memory::{Asked, Save};

/// How many workers a domain may have.
pub(super) const MOST_WORKERS: usize = 256;

#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("help.txt"))]
pub(crate) struct CallArgs {
    /// The plugin: its .so, or its name. A name is looked for in UROM_PLUGIN_PATH, also with
    /// --service: the file there says what the commands are.
    #[arg(value_name = "FILE.so|NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(super) plugin: String,
    /// The command and what it carries; loopback, Loopback and loop-back are the same. Further
    /// commands behind a `+`; `-` or @FILE for commands in lines. Without any, those that there are
    /// are listed.
    #[arg(value_name = "COMMAND [FIELD=VALUE].. [+ ..]", conflicts_with = "raw")]
    pub(super) words: Vec<String>,
    /// The service to use instead of one in this process: its address, or @FILE of uromd
    /// --address-file.
    #[arg(long, value_name = "ADDR:PORT|@FILE")]
    pub(super) service: Option<String>,
    /// The key that the service asks for: a copy of its key file, of this user and of mode 0600.
    /// That of UROM_KEY_FILE if not given.
    #[arg(long, value_name = "FILE", requires = "service")]
    pub(super) key_file: Option<PathBuf>,
    /// A plugin of the same protocol, whose file describes the commands: for plugins in C, and for
    /// those that are only on the service's machine.
    #[arg(long, value_name = "FILE.so")]
    pub(super) protocol: Option<PathBuf>,
    /// The command's bytes, tag and all, in place of a command and its fields: hex:.., @file or
    /// text.
    #[arg(long, value_name = "BYTES")]
    pub(super) raw: Option<String>,
    /// The worker to send it to, which is started unless it runs; without it, a new one. A worker
    /// ends with its last host, and this command is one.
    #[arg(long, value_name = "ID", allow_negative_numbers = true, value_parser = worker_id)]
    pub(super) worker: Option<WorkerId>,
    /// Starts so many workers and makes a domain of them.
    #[arg(long, value_name = "N", allow_negative_numbers = true, conflicts_with = "worker",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=MOST_WORKERS as u64))]
    pub(super) workers: Option<usize>,
    /// How long to wait for an answer, in seconds.
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, default_value_t = 10,
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(super) timeout: u64,
    /// The longest message in bytes, UROM's header of 24 or 32 bytes included; a service has its
    /// own limit.
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true,
        value_parser = RangedU64ValueParser::<usize>::new()
            .range(MIN_MAX_MESSAGE as u64..=MAX_MAX_MESSAGE as u64))]
    pub(super) max_msg_size: Option<usize>,
    /// Memory that commands may name: NAME=SIZE has zeros, such as 4096, 4K or 1M, and NAME=@FILE
    /// the bytes of a file. Plugins may read and write it. Afterwards it is printed.
    #[arg(long, value_name = "NAME=SIZE|NAME=@FILE", conflicts_with = "raw")]
    pub(super) memory: Vec<Asked>,
    /// The same for memory that plugins may only read.
    #[arg(long, value_name = "NAME=SIZE|NAME=@FILE", conflicts_with = "raw")]
    pub(super) memory_read_only: Vec<Asked>,
    /// Writes memory to a file afterwards, in place of printing it.
    #[arg(long, value_name = "NAME=FILE")]
    pub(super) save: Vec<Save>,
    /// Says how the workers reach the memory: mapped, process or network.
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
