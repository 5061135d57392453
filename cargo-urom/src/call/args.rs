//! What the command line says.

use std::path::PathBuf;

use clap::builder::{NonEmptyStringValueParser, RangedU64ValueParser};
use urom_abi::{WORKER_ID_ANY, WorkerId};
use urom_service::daemon::config::{MAX_MAX_MESSAGE, MIN_MAX_MESSAGE};

const EXAMPLES: &str = "\
Examples:
  cargo urom call target/debug/libworker_graph.so loopback data=42
  cargo urom call target/debug/libworker_graph.so loopback data=1 + loopback data=2
  echo 'loopback data=42' | cargo urom call target/debug/libworker_graph.so -
  cargo urom call target/debug/libworker_sandbox.so --workers 2 0:tag_recv count=5 tag=7 tag_mask=255 + 1:tag_send dest=0 tag=7 data=hello
  cargo urom call target/debug/libworker_graph.so loopback data=42 --repeat 10000 --in-flight 16
  cargo urom call target/debug/libworker_graph.so loopback data=42 --service 127.0.0.1:18700
  UROM_PLUGIN_PATH=target/debug cargo urom call worker_sandbox mem_map 'map_params={field_mask=7,address=4096,length=4096,flags=2}'
  cargo urom call worker_graph.so loopback data=42 --protocol target/debug/libworker_graph.so
  cargo urom call worker_graph --raw hex:00000000000000002a00000000000000 --service 127.0.0.1:18700

Values:
  integers      7  -7  0x1f  1_000
  floats        0.5  1e-3  inf
  bool, char    true  false; x  ' '  0x1f600
  enums         the name of a value, or its number
  text          any text; text:@no-file
  bytes         any text; hex:0a0b or 0x0a0b; @file; text:@no-file
  arrays        [1,2,3]; an array of u8 also as bytes, with zeros behind them
  structures    {a=1,b=[2,3]}, or single members: params.a=1 params.b[0]=2; the rest is zero
  elements      [1,2,3] or [{a=1},{a=2}]
  any type      hex:.. or @file, with exactly its bytes
Lists and structures may have spaces. A shell wants quotes around characters of its own, such as { and }.
A field that the answer repeats is 0 unless it is given. The words of payloads (addresses, lengths) are filled in; give one
to send another. Data in registered memory: its id, address and length words in place of the data.

Several commands stand with a `+` between them. They go to one worker, which stays until the last of them is answered, and are in
flight together, at most 64 for each worker: a further one waits for an answer. In place of commands, `-` stands for those on standard input and @FILE for those in a file, one line after the
other: a line waits for the answers of the line before. `#` begins a comment there. What is wrong in a file, or in arguments, is said
before anything is sent. What is wrong in a line of standard input is said when it comes, and the other lines are sent.

With --workers N there are N workers, numbered from 0, in a domain whose ids are these numbers. 1:COMMAND is for worker 1; without a
number it is worker 0.

With --repeat a time runs from before a command is submitted to after its answer is there, whatever the answer, and a
percentile is one of these times, by the nearest rank. Each answer brings the next command: what the plugin holds up delays
the commands behind it and is not counted for them too.

The embedded service is right for a first try. Its worker is a thread of this process, so a plugin that crashes ends it.
Without --workers there is no domain: commands that need one, to reach another worker's plugin, are refused by their plugin.
A plugin in C needs the lib directory of its DOCA in LD_LIBRARY_PATH.

Exit codes: 0 when every command was answered with DOCA_SUCCESS and the notification it calls for, 1 when not, 2 for a wrong
command line or a wrong command: a name, a field or a value that the plugin's description does not have.";

/// How many workers a domain may have.
pub(super) const MOST_WORKERS: usize = 256;

/// The verb's arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The plugin: its .so, or its name. A name is looked for in UROM_PLUGIN_PATH, also with --service: the file there says
    /// what the commands are.
    #[arg(value_name = "FILE.so|NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(super) plugin: String,
    /// The command and what it carries; loopback, Loopback and loop-back are the same. Further commands behind a `+`; `-` or
    /// @FILE for commands in lines. Without any, those that there are are listed.
    #[arg(value_name = "COMMAND [FIELD=VALUE].. [+ ..]", conflicts_with = "raw")]
    pub(super) words: Vec<String>,
    /// The service to use, in place of one in this process.
    #[arg(long, value_name = "ADDR:PORT")]
    pub(super) service: Option<String>,
    /// The key that the service asks for: a copy of its key file, of this user and of mode 0600. That of UROM_KEY_FILE if not
    /// given.
    #[arg(long, value_name = "FILE", requires = "service")]
    pub(super) key_file: Option<PathBuf>,
    /// A plugin of the same protocol, whose file describes the commands: for plugins in C, and for those that are only on
    /// the service's machine.
    #[arg(long, value_name = "FILE.so")]
    pub(super) protocol: Option<PathBuf>,
    /// The command's bytes, tag and all, in place of a command and its fields: hex:.., @file or text.
    #[arg(long, value_name = "BYTES")]
    pub(super) raw: Option<String>,
    /// The worker to send it to, which is started unless it runs; without it, a new one. A worker ends with its last host,
    /// and this command is one.
    #[arg(long, value_name = "ID", allow_negative_numbers = true, value_parser = worker_id)]
    pub(super) worker: Option<WorkerId>,
    /// Starts so many workers and makes a domain of them. With --worker ID, that is the id of the first one.
    #[arg(long, value_name = "N", allow_negative_numbers = true, conflicts_with = "repeat",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=MOST_WORKERS as u64))]
    pub(super) workers: Option<usize>,
    /// Sends the command so many times and prints what that took.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = RangedU64ValueParser::<usize>::new().range(1..=100_000_000))]
    pub(super) repeat: Option<usize>,
    /// How many of them are in flight at a time.
    #[arg(long, value_name = "M", allow_negative_numbers = true, default_value_t = 1, requires = "repeat",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=4096))]
    pub(super) in_flight: usize,
    /// How many go before and are not counted; a tenth of --repeat and at most 1000 if not given.
    #[arg(long, value_name = "N", allow_negative_numbers = true, requires = "repeat",
        value_parser = RangedU64ValueParser::<usize>::new().range(0..=100_000_000))]
    pub(super) warm_up: Option<usize>,
    /// How long to wait for an answer, in seconds.
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(super) timeout: u64,
    /// The longest message in bytes, UROM's header of 24 or 32 bytes included; a service has its own limit.
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true,
        value_parser = RangedU64ValueParser::<usize>::new().range(MIN_MAX_MESSAGE as u64..=MAX_MAX_MESSAGE as u64))]
    pub(super) max_msg_size: Option<usize>,
    /// Prints JSON: an object for each command.
    #[arg(long)]
    pub(super) json: bool,
}

/// A worker's id that means a worker.
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
