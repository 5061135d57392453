//! A `uromd` for one test.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use urom_abi::DocaError;
use urom_os::test_daemon::TestDaemon;

use super::cargo;
use crate::error::{Error, Result};

/// A running service: the daemon `uromd` with its worker processes, on its own port of 127.0.0.1.
///
/// Dropping it ends them. Their warnings and errors, including the plugins', are part of the test's
/// output: `cargo test` shows it when the test fails.
#[derive(Debug)]
pub struct Uromd(TestDaemon);

impl Uromd {
    /// Builds the daemon and starts it with the plugins of `plugin_path`, in the format of
    /// `UROM_PLUGIN_PATH`: for instance files from [`plugin`](super::plugin), separated by `;`.
    ///
    /// # Errors
    /// When cargo cannot build the daemon, or it does not start: the reason is on standard error.
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

    /// Its address, `127.0.0.1:PORT`, for
    /// [`ServiceBuilder::address`](crate::ServiceBuilder::address).
    pub fn address(&self) -> &str {
        &self.0.address
    }
}
