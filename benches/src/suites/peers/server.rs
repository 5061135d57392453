//! A peer's server: this program again, pinned to the worker's core.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::NAME;
use super::host::{Role, Side};
use crate::child::Child;

/// A server at work. Dropping it kills it.
pub(super) struct Server {
    address: String,
    _process: Child,
    // A Unix socket's place, gone with the server.
    _directory: Option<tempfile::TempDir>,
}

/// What its process is started with.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    pub(super) side: Side,
    pub(super) core: usize,
    /// Where a Unix socket is to be.
    pub(super) path: String,
}

impl Server {
    /// Starts one, and waits until it can be connected to.
    pub(super) fn start(side: Side, core: usize) -> Result<Server> {
        let directory = tempfile::tempdir()?;
        let path = directory.path().join("echo").display().to_string();
        let plan = Plan { side, core, path };
        let mut process = Child::start(NAME, &Role::Server(plan), |command| command)?;
        let address = process.answer()?;
        Ok(Server { address, _process: process, _directory: Some(directory) })
    }

    /// Where it is.
    pub(super) fn address(&self) -> &str {
        &self.address
    }
}
