//! What this program does when it calls itself.

use std::process::Command;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::launch::Launch;
use crate::party::HostArguments;

#[derive(Serialize, Deserialize)]
pub(crate) enum Process {
    Launch {
        suite: String,
        part: usize,
        launch: Launch,
    },
    /// A host of the suite `loopback`.
    Host(HostArguments),
    /// A server of tonic on a core.
    Tonic(usize),
    /// A host with its worker, at a gate.
    Gated,
    /// Rounds whose instructions are counted.
    Counted(Value, usize),
}

impl Process {
    /// The command that starts it.
    pub(crate) fn command(&self) -> Result<Command> {
        let program = std::env::current_exe().context("cannot find this program's own file")?;
        let mut command = Command::new(program);
        command.args(["--process", &serde_json::to_string(self)?]);
        Ok(command)
    }
}
