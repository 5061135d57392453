//! A `uromd` of a test's own.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use urom_abi::DocaError;
use urom_os::test_daemon::TestDaemon;

use super::cargo;
use crate::error::{Error, Result};

/// A running service: the daemon `uromd` with its worker processes, on a port of its own of
/// 127.0.0.1.
///
/// Dropping it ends them. What they log from warnings on, plugins included, is part of the test's
/// output: `cargo test` shows it when the test fails.
#[derive(Debug)]
pub struct Uromd(TestDaemon);

impl Uromd {
    /// Builds the daemon and starts it with the plugins of `plugin_path`: what `UROM_PLUGIN_PATH`
    /// takes, such as a file that [`plugin`](super::plugin) gave, or several with `;` between them.
    ///
    /// # Errors
    /// When cargo cannot build it, or when it does not come up: it says why on standard error.
    pub fn start(plugin_path: impl AsRef<OsStr>) -> Result<Uromd> {
        let program = cargo::uromd()?;
        let mut command = Command::new(&program);
        command.args(["--log-level", "40"]).stderr(Stdio::piped());
        let started = TestDaemon::start(command, "127.0.0.1:0", plugin_path, |_| ());
        started.map(Uromd).map_err(|error| {
            let what = format!("starting {}", program.display());
            Error::new(DocaError::INITIALIZATION, what).why(error.to_string())
        })
    }

    /// Where it listens, `127.0.0.1:PORT`: what
    /// [`ServiceBuilder::address`](crate::ServiceBuilder::address) takes.
    pub fn address(&self) -> &str {
        &self.0.address
    }
}
