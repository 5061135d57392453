//! The command line.

use clap::{Parser, value_parser};
use example_common::{Common, Meeting};

/// Limit of `--message` in bytes, as in DOCA's sample.
const LONGEST: usize = 99;
/// Limit of `--size`. Registered memory is three times as long.
const LARGEST: i64 = 256 << 20;
/// Limit of the rounds, because each stores its time.
const MOST_ROUNDS: i64 = 10_000_000;

/// Sends a message back and forth between two processes, through their workers, and measures it.
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

    /// Sends BYTES bytes, different in each round, instead of a text; at most 256 MiB.
    #[arg(long, value_name = "BYTES", value_parser = value_parser!(u32).range(1..=LARGEST))]
    #[arg(conflicts_with = "message")]
    pub(crate) size: Option<u32>,

    /// Round trips, at most ten million. The first tenth, up to a hundred, is not measured.
    #[arg(short, long, value_name = "N", default_value = "1")]
    #[arg(value_parser = value_parser!(u32).range(1..=MOST_ROUNDS))]
    pub(crate) iterations: u32,

    /// Sends from and receives to memory that this process shares with its worker. Otherwise the
    /// bytes travel in commands and notifications: at most 4000 by default.
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
