//! A `uromd` process of a test on its own port.

use std::ffi::OsStr;
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use urom_os::test_daemon::TestDaemon;

use crate::built::built;

/// A running daemon. Drop kills it; [`stop`](Uromd::stop) shuts it down.
#[derive(Debug)]
pub struct Uromd(TestDaemon);

impl Uromd {
    /// Starts a daemon with the plugins of one path. Its log is part of the test's output, which is
    /// shown on failure.
    pub fn start(plugin_path: impl AsRef<OsStr>) -> Result<Uromd> {
        Uromd::start_with(plugin_path, |command| command)
    }

    /// Like `start`, after `set` has changed the command.
    pub fn start_with(
        plugin_path: impl AsRef<OsStr>,
        set: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Result<Uromd> {
        let mut command = Command::new(built("uromd")?);
        command.stderr(Stdio::piped());
        set(&mut command);
        Uromd::start_command(command, plugin_path)
    }

    /// Starts `command`, some `uromd`, on its own port.
    pub fn start_command(command: Command, plugin_path: impl AsRef<OsStr>) -> Result<Uromd> {
        Uromd::start_at(command, "127.0.0.1:0", plugin_path)
    }

    /// Starts `command`, some `uromd`, on an address.
    pub fn start_at(
        command: Command,
        listen: &str,
        plugin_path: impl AsRef<OsStr>,
    ) -> Result<Uromd> {
        let program = command.get_program().to_owned();
        let started = TestDaemon::start(command, listen, plugin_path, |_| ());
        Ok(Uromd(started.with_context(|| format!("cannot start {}", program.display()))?))
    }

    pub fn address(&self) -> &str {
        &self.0.address
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.0.child)
    }

    pub fn signal(&self, signal: Signal) -> Result<()> {
        Ok(kill_process(self.pid(), signal)?)
    }

    /// Shuts it down with SIGTERM and waits.
    pub fn stop(self) -> Result<ExitStatus> {
        self.signal(Signal::TERM)?;
        self.wait()
    }

    pub fn wait(mut self) -> Result<ExitStatus> {
        Ok(self.0.child.wait()?)
    }
}
