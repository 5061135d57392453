//! A daemon with its plugins, and the logs of daemon and hosts.

use std::fs::File;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::Pid;
use tempfile::TempDir;
use urom_tests::{PluginDirectory, Uromd};

use crate::process::HostProcess;
use crate::transports::{Transports, set_up_daemon};

pub(crate) const FAULTY: &str = "worker_faulty";

pub(crate) struct Service {
    pub(crate) daemon: Uromd,
    _plugins: PluginDirectory,
    transports: Transports,
    logs: Logs,
}

impl Service {
    pub(crate) fn start(transports: Transports, logs: &Logs) -> Result<Service> {
        Service::with(PluginDirectory::with(&[FAULTY])?, transports, logs, |command| command)
    }

    pub(crate) fn start_with(
        logs: &Logs,
        set: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Result<Service> {
        Service::with(PluginDirectory::with(&[FAULTY])?, Transports::All, logs, set)
    }

    pub(crate) fn with(
        plugins: PluginDirectory,
        transports: Transports,
        logs: &Logs,
        set: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Result<Service> {
        let log = logs.file("uromd")?;
        let daemon = Uromd::start_with(plugins.variable(), |command| {
            set(set_up_daemon(command, transports).stderr(log))
        })?;
        Ok(Service { daemon, _plugins: plugins, transports, logs: logs.clone() })
    }

    pub(crate) fn host(&self, name: &str) -> Result<HostProcess> {
        self.host_with(name, |command| command)
    }

    pub(crate) fn host_with(
        &self,
        name: &str,
        set: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Result<HostProcess> {
        let log = self.logs.file(name)?;
        let mut host = HostProcess::start(name, &[], self.transports, log, set)?;
        host.connect(self.address())?;
        Ok(host)
    }

    pub(crate) fn address(&self) -> &str {
        self.daemon.address()
    }

    pub(crate) fn pid(&self) -> Pid {
        self.daemon.pid()
    }

    /// Stops the daemon, which must end in order.
    pub(crate) fn end(self) -> Result<()> {
        let status = self.daemon.stop()?;
        ensure!(status.success(), "the daemon ended with {status}");
        Ok(())
    }
}

pub(crate) fn key_file(directory: &TempDir) -> Result<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let file = directory.path().join("key");
    std::fs::write(&file, [7; 32])?;
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600))?;
    Ok(file)
}

#[derive(Debug, Clone)]
pub(crate) struct Logs {
    directory: Arc<TempDir>,
}

impl Logs {
    pub(crate) fn new() -> Result<Logs> {
        Ok(Logs { directory: Arc::new(tempfile::tempdir()?) })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn file(&self, name: &str) -> Result<File> {
        Ok(File::options().create(true).append(true).open(self.path(name))?)
    }

    pub(crate) fn count(&self, name: &str, words: &str) -> Result<usize> {
        let text =
            std::fs::read(self.path(name)).with_context(|| format!("reading the log of {name}"))?;
        Ok(String::from_utf8_lossy(&text).lines().filter(|line| line.contains(words)).count())
    }

    /// Returns the longest turn of a daemon's loop, from the end of its log.
    pub(crate) fn longest_turn(&self, name: &str) -> Result<Duration> {
        let text = std::fs::read_to_string(self.path(name))?;
        let told = text.lines().rev().find_map(|line| {
            let turn = line.split_once("the longest turn of the loop took ")?.1;
            turn.strip_suffix(" us")?.parse().ok()
        });
        let longest =
            told.with_context(|| format!("the log of {name} lacks a line about turns"))?;
        Ok(Duration::from_micros(longest))
    }

    pub(crate) fn tails(&self) -> String {
        const LINES: usize = 40;
        let files = std::fs::read_dir(self.directory.path()).into_iter().flatten().flatten();
        let tail = |path: PathBuf| {
            let text =
                String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()).into_owned();
            let lines: Vec<&str> = text.lines().collect();
            let last = lines[lines.len().saturating_sub(LINES)..].join("\n");
            format!("--- {}\n{last}", path.file_name().unwrap_or_default().display())
        };
        files.map(|file| tail(file.path())).collect::<Vec<_>>().join("\n")
    }
}
