//! The command line.

use clap::{Parser, value_parser};
use example_common::{Common, Meeting};

/// The longest message of the option `--message`, in bytes, as in DOCA's sample.
const LONGEST: usize = 99;
/// The longest message of the option `--size`. Registered memory is three times as long.
const LARGEST: i64 = 256 << 20;
/// How many rounds there may be at most: each leaves a number behind.
const MOST_ROUNDS: i64 = 10_000_000;

/// Sends a message back and forth between two processes, through their workers, and says how long
/// that took.
///
/// Start it with `mpirun -np 2`, or twice with --rendezvous and --rank.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(crate) common: Common,

    /// The text to send, at most 99 bytes; the same for both processes.
    #[arg(short, long, value_name = "TEXT", default_value = "hello world", value_parser = text)]
    pub(crate) message: String,

    /// Sends so many bytes, others in each round, instead of a text; at most 256 MiB.
    #[arg(long, value_name = "BYTES", value_parser = value_parser!(u32).range(1..=LARGEST))]
    #[arg(conflicts_with = "message")]
    pub(crate) size: Option<u32>,

    /// How often the message goes there and back; at most ten million times. Of many rounds, the
    /// first ones are not measured: one in ten, up to a hundred.
    #[arg(short, long, value_name = "N", default_value = "1")]
    #[arg(value_parser = value_parser!(u32).range(1..=MOST_ROUNDS))]
    pub(crate) iterations: u32,

    /// Sends from and receives into memory that this process shares with its worker.
    /// Without it the bytes travel in commands and notifications, at most 4000 of them unless the
    /// service allows longer messages.
    #[arg(long)]
    pub(crate) registered: bool,

    #[command(flatten)]
    pub(crate) meeting: Meeting,
}

fn text(text: &str) -> Result<String, String> {
    match text.len() {
        ..=LONGEST => Ok(text.to_owned()),
        len => Err(format!("it has {len} bytes, at most {LONGEST} are allowed: --size sends more")),
    }
}
