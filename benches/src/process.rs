//! Roles of this program's child processes.

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
    Host(HostArguments),
    Tonic(usize),
    /// A host with its worker, at a gate.
    Gated,
    Counted(Value, usize),
}

impl Process {
    pub(crate) fn command(&self) -> Result<Command> {
        let program = std::env::current_exe().context("cannot find this program's own file")?;
        let mut command = Command::new(program);
        command.args(["--process", &serde_json::to_string(self)?]);
        Ok(command)
    }
}
