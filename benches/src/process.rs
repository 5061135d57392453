//! What this program does when it calls itself.

use std::process::Command;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::child;
use crate::launch::Launch;
use crate::party::Arguments;
use crate::suites::{codec, find, loopback, peers};

/// A process of its own.
#[derive(Serialize, Deserialize)]
pub(crate) enum Process {
    /// One launch of a suite's part.
    Launch { suite: String, part: usize, launch: Launch },
    /// A host of the suite `loopback`.
    Host(Arguments),
    /// A server of tonic on a core.
    Tonic(usize),
    /// Rounds whose instructions are counted.
    Counted(codec::Counted, usize),
}

impl Process {
    /// The command that starts it.
    pub(crate) fn command(&self) -> Result<Command> {
        let program = std::env::current_exe().context("cannot find this program's own file")?;
        let mut command = Command::new(program);
        command.args(["--process", &serde_json::to_string(self)?]);
        Ok(command)
    }

    /// What it does.
    pub(crate) fn run(self) -> Result<()> {
        match self {
            Process::Launch { suite, part, launch } => {
                let part = find(&suite)?.parts.get(part).context("the suite has no such part")?;
                child::answer(&(part.measure)(&launch)?)
            }
            Process::Host(arguments) => loopback::host(&arguments),
            Process::Tonic(core) => peers::serve(core),
            Process::Counted(counted, rounds) => codec::run(counted, rounds),
        }
    }
}
