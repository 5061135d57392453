//! Counts the instructions of messages and plugins, against the same in C.
//!
//! ```text
//! codec                                        measures everything; prints figures as JSON
//! codec message NAME encode|decode SIDE COUNT  the measured part: COUNT messages
//! codec plugin FILE WORK COMMANDS TURNS        the measured part: TURNS turns of COMMANDS commands
//! ```
//!
//! Instruction counts do not depend on what else the machine does, so one run is enough. They are
//! taken with callgrind, of the loop alone, twice: of N and of 2N rounds, so that what happens once
//! cancels out.

mod callgrind;
mod figures;
mod message;
mod turns;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Counts the instructions of messages and plugins, against the same in C.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Subcommand)]
enum What {
    /// Writes or reads one message again and again.
    Message { name: String, direction: message::Direction, side: message::Side, count: usize },
    /// Drives a plugin as a worker does.
    Plugin { file: PathBuf, work: turns::Work, commands: usize, turns: usize },
}

fn main() -> Result<()> {
    match Arguments::parse().what {
        Some(What::Message { name, direction, side, count }) => {
            message::run(&name, direction, side, count)
        }
        Some(What::Plugin { file, work, commands, turns }) => {
            turns::run(&file, work, commands, turns)
        }
        None => {
            println!("{}", serde_json::to_string_pretty(&figures::all()?)?);
            Ok(())
        }
    }
}
