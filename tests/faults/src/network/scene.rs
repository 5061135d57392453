//! A service in one namespace and a host in the other.

use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use rustix::process::Pid;
use urom_tests::{PluginDirectory, Uromd, profile_directory};

use super::link::{Link, SERVICE};
use crate::ending::wait_for_end;
use crate::host::{Kind, Tally};
use crate::measure::between;
use crate::process::{END, HostProcess, TIMEOUT};
use crate::service::{FAULTY, Logs, key_file};
use crate::transports::{Transports, set_up_daemon};
use crate::vitals::{descriptors, until};

/// Time limit for detecting a cut, and for a failed connection.
pub(super) const BUDGET: Duration = Duration::from_secs(5);

pub(super) const ONE: u64 = 1;

/// Errors while a link is cut; they depend on the first peer that a process sends to.
pub(super) const CUT_OFF: [&str; 4] =
    ["was silent for", "UCX says", "the connection broke", "the connection to it broke"];

/// Errors after the link is restored: the other side's kernel rejects the unknown connection, so
/// silence cannot be the cause.
pub(super) const GONE: [&str; 4] =
    ["closed by the other side", "UCX says", "the connection broke", "the connection to it broke"];

pub(super) struct Scene {
    // Drop order: the namespaces go last.
    pub(super) host: HostProcess,
    pub(super) daemon: Uromd,
    pub(super) link: Link,
    _plugins: PluginDirectory,
    _keys: tempfile::TempDir,
    pub(super) logs: Logs,
}

impl Scene {
    pub(super) fn new() -> Result<Scene> {
        let (logs, link) = (Logs::new()?, Link::new()?);
        let plugins = PluginDirectory::with(&[FAULTY])?;
        let keys = tempfile::tempdir()?;
        let key = key_file(&keys)?;
        let program = profile_directory()?.join("uromd");
        let words = link.in_service();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg(program);
        set_up_daemon(&mut command, Transports::Tcp)
            .env("UROM_KEY_FILE", &key)
            .stderr(logs.file("uromd")?);
        let daemon = Uromd::start_at(command, &format!("{SERVICE}:0"), plugins.variable())?;
        let variable = format!("UROM_KEY_FILE={}", key.display());
        let words = [&link.in_host()[..], &["env", &variable]].concat();
        let log = logs.file("host")?;
        let host = HostProcess::start("the host", &words, Transports::Tcp, log, |command| command)?;
        Ok(Scene { host, daemon, link, _plugins: plugins, _keys: keys, logs })
    }

    pub(super) fn connect(&mut self) -> Result<Pid> {
        self.host.connect(self.daemon.address())?;
        let worker = self.host.start_worker(ONE)?;
        self.works()?;
        Ok(worker)
    }

    pub(super) fn connect_and_load(&mut self) -> Result<Pid> {
        let worker = self.connect()?;
        self.host.load(ONE, Kind::Busy, 32, 7)?;
        self.host.pass(ONE, 500)?;
        Ok(worker)
    }

    fn works(&mut self) -> Result<()> {
        self.host.load(ONE, Kind::Busy, 32, 1)?;
        self.host.pass(ONE, 200)?;
        self.host.halt(ONE)?;
        Ok(())
    }

    /// Waits until every task has failed with one of these causes; returns the time since `begin`.
    pub(super) fn noticed(&mut self, begin: u64, causes: &[&str]) -> Result<Duration> {
        let Tally { errors, last_end, .. } = self.host.over(ONE, TIMEOUT)?;
        ensure!(!errors.is_empty(), "nothing failed");
        for (trouble, _) in &errors {
            let text = &trouble.text;
            ensure!(
                text.contains("worker 1") && causes.iter().any(|cause| text.contains(cause)),
                "an error that does not say which worker was lost, and why: {text}"
            );
        }
        Ok(between(begin, last_end))
    }

    /// After the link is restored: the lost worker has ended, a new worker works, and the daemon's
    /// descriptors are closed.
    pub(super) fn recovers(&mut self, lost: Pid, before: usize) -> Result<()> {
        wait_for_end(lost, END, "the worker that lost its host")?;
        self.host.leave(ONE)?;
        self.host.disconnect()?;
        self.connect()?;
        self.host.is_quiet()?;
        let pid = self.daemon.pid();
        until(END, "the daemon's descriptors are closed", || Ok(descriptors(pid)? <= before))
            .map(drop)
    }
}
