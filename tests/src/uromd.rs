//! A `uromd` process of a test's own, on a port of its own.

use std::ffi::OsStr;
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use urom_os::test_daemon::TestDaemon;

use crate::built::built;

/// A running daemon. Dropping it kills it; [`stop`](Uromd::stop) ends it in order.
#[derive(Debug)]
pub struct Uromd(TestDaemon);

impl Uromd {
    /// Starts a daemon that serves the plugins of one path. What it logs is part of the running
    /// test's output, which is shown when the test fails.
    pub fn start(plugin_path: impl AsRef<OsStr>) -> Result<Uromd> {
        Uromd::start_with(plugin_path, |command| command)
    }

    /// The same, after `set` has added arguments and variables, or has sent its log elsewhere.
    pub fn start_with(
        plugin_path: impl AsRef<OsStr>,
        set: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Result<Uromd> {
        let mut command = Command::new(built("uromd")?);
        command.stderr(Stdio::piped());
        set(&mut command);
        Uromd::start_command(command, plugin_path)
    }

    /// Starts `command`, which is some `uromd`, on a port of its own.
    pub fn start_command(command: Command, plugin_path: impl AsRef<OsStr>) -> Result<Uromd> {
        Uromd::start_at(command, "127.0.0.1:0", plugin_path)
    }

    /// Starts `command`, which is some `uromd`, to listen at an address.
    pub fn start_at(
        command: Command,
        listen: &str,
        plugin_path: impl AsRef<OsStr>,
    ) -> Result<Uromd> {
        let program = command.get_program().to_owned();
        let started = TestDaemon::start(command, listen, plugin_path, |_| ());
        Ok(Uromd(started.with_context(|| format!("cannot start {}", program.display()))?))
    }

    /// Where it listens: `127.0.0.1:PORT`.
    pub fn address(&self) -> &str {
        &self.0.address
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.0.child)
    }

    pub fn signal(&self, signal: Signal) -> Result<()> {
        Ok(kill_process(self.pid(), signal)?)
    }

    /// Ends it in order, with SIGTERM, and waits.
    pub fn stop(self) -> Result<ExitStatus> {
        self.signal(Signal::TERM)?;
        self.wait()
    }

    pub fn wait(mut self) -> Result<ExitStatus> {
        Ok(self.0.child.wait()?)
    }
}
