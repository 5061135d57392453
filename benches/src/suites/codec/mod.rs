//! Instructions of messages and plugins, against the same in C.
//!
//! Instruction counts do not depend on the machine's load, so one run is enough. callgrind counts
//! the loop alone, once for N and once for 2N rounds, so that one-time work cancels out.

mod callgrind;
mod message;
mod turns;

use std::path::PathBuf;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use urom_tests::built;

use crate::figure::Figure;
use crate::in_c;
use crate::launch::Launch;

const COUNT: usize = 10_000;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Counted {
    Message { name: String, work: message::MessageWork },
    Turn { file: PathBuf, work: turns::TurnWork, way: turns::HandOver, commands: usize },
}

pub(crate) fn run(counted: Counted, rounds: usize) -> Result<()> {
    match counted {
        Counted::Message { name, work } => message::run(&name, work, rounds),
        Counted::Turn { file, work, way, commands } => {
            turns::run(&file, work, way, commands, rounds)
        }
    }
}

pub(super) fn measure(_: &Launch) -> Result<Vec<Figure>> {
    let mut figures = messages()?;
    figures.extend(plugins()?);
    Ok(figures)
}

fn figure(name: String, [value, in_c]: [f64; 2], peer: &str, note: &str) -> Figure {
    Figure::new(name, "instructions", value).against(peer, in_c).note(note)
}

fn messages() -> Result<Vec<Figure>> {
    use message::MessageWork;
    const PEER: &str = "packed by hand in C, with memcpy";
    let of = |name: &str, work| {
        callgrind::per_round(&Counted::Message { name: name.to_owned(), work }, COUNT)
    };
    let mut figures = Vec::new();
    // The loop and the call cost the same for all messages.
    let nothing = of("loopback", MessageWork::Nothing)?;
    for name in message::NAMES {
        let mut sums = [0.0, 0.0];
        for (what, works) in [
            ("encode", [MessageWork::Encode, MessageWork::EncodeInC]),
            ("decode", [MessageWork::Decode, MessageWork::DecodeInC]),
        ] {
            let each = [of(name, works[0])? - nothing, of(name, works[1])? - nothing];
            sums = [sums[0] + each[0], sums[1] + each[1]];
            let name = format!("codec-{what}/{name}");
            figures.push(figure(name, each, PEER, "without the loop"));
        }
        let note = "encode and decode together, without the loop";
        figures.push(figure(format!("codec/{name}"), sums, PEER, note));
    }
    Ok(figures)
}

/// Counts a command's instructions in a plugin, with the worker's part of the descriptors.
fn plugins() -> Result<Vec<Figure>> {
    use turns::{HandOver, TurnWork};
    let mut figures = Vec::new();
    // Turns of one command each: enough for UCX's polling in an exchange to average out.
    for (name, what, work, numbers, turns) in [
        ("graph", "loopback", TurnWork::Loopback, [1, 32], 4096),
        ("sandbox", "exchange", TurnWork::Exchange, [2, 32], 8192),
    ] {
        for commands in numbers {
            let of = |file: PathBuf, way| -> Result<f64> {
                let turn = Counted::Turn { file, work, way, commands };
                Ok(callgrind::per_round(&turn, turns / commands)? / commands as f64)
            };
            let file = built(&format!("libworker_{name}.so"))?;
            let in_c = of(in_c::plugin(name)?, HandOver::Doca)?;
            for (way, start, note) in [
                (HandOver::Kit, "plugin", "a command as a worker of this kit hands it over"),
                (
                    HandOver::Doca,
                    "plugin-doca",
                    "with worker_cmd, progress, notif_pack, descriptors",
                ),
            ] {
                let name = format!("{start}/{name}/{what}/{commands}-a-turn");
                let each = [of(file.clone(), way)?, in_c];
                figures.push(figure(name, each, "the same plugin in C", note));
            }
        }
    }
    Ok(figures)
}
