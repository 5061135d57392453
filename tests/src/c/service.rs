//! A service for C programs, and their environment.

use std::ffi::{OsStr, OsString};
use std::process::Command;

use anyhow::{Context, Result};

use super::compiler::asan_library;
use super::prefix::{Prefix, prefix};
use crate::built::PluginDirectory;
use crate::uromd::Uromd;

/// Name of the virtual device for programs.
pub const DEVICE: &str = "mlx5_0";

/// Its PCI address, on the host and in the service file.
const PCI_ADDRESS: &str = "0000:03:00.0";

/// CPUs that every service reports, regardless of the machine.
const CPUS: &str = "0-7";

#[derive(Debug)]
pub struct Service {
    prefix: Prefix,
    kind: Kind,
    plugins: PluginDirectory,
}

#[derive(Debug)]
enum Kind {
    Daemon { uromd: Uromd, file: tempfile::NamedTempFile },
    Embedded,
}

impl Service {
    pub fn daemon(plugins: PluginDirectory) -> Result<Service> {
        Service::daemon_with(plugins, |command| command)
    }

    /// Like `daemon`, after `set` has changed the command.
    pub fn daemon_with(
        plugins: PluginDirectory,
        set: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Result<Service> {
        Service::daemon_of(&prefix()?, plugins, set)
    }

    /// Starts a `uromd` for sanitized plugins: errors end the worker, leaks do not.
    pub fn sanitized(plugins: PluginDirectory) -> Result<Service> {
        let library = asan_library()?;
        Service::daemon_with(plugins, |command| {
            command.args(["--worker-env", "LD_PRELOAD", "--worker-env", "ASAN_OPTIONS"]);
            command.env("LD_PRELOAD", library).env("ASAN_OPTIONS", "detect_leaks=0")
        })
    }

    pub fn daemon_of(
        prefix: &Prefix,
        plugins: PluginDirectory,
        set: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Result<Service> {
        Service::daemon_by(Command::new(prefix.uromd()), prefix, plugins, set)
    }

    /// Starts a `uromd` by `command`; programs use `prefix`.
    pub fn daemon_by(
        mut command: Command,
        prefix: &Prefix,
        plugins: PluginDirectory,
        set: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Result<Service> {
        command.args(["--cpus", CPUS, "-l", "30"]);
        set(&mut command);
        let uromd = Uromd::start_command(command, plugins.path())?;
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let (address, _) = uromd.address().rsplit_once(':').context("an address has a port")?;
        let file = tempfile::NamedTempFile::new().context("cannot make a service file")?;
        std::fs::write(
            file.path(),
            format!("# a service of the tests\n\n{host} dpu {address} {PCI_ADDRESS} {DEVICE}\n"),
        )?;
        Ok(Service { prefix: prefix.clone(), kind: Kind::Daemon { uromd, file }, plugins })
    }

    /// Each program has its own service in threads.
    pub fn embedded(plugins: PluginDirectory) -> Result<Service> {
        Ok(Service { prefix: prefix()?, kind: Kind::Embedded, plugins })
    }

    pub fn uromd(&self) -> Option<&Uromd> {
        match &self.kind {
            Kind::Daemon { uromd, .. } => Some(uromd),
            Kind::Embedded => None,
        }
    }

    /// The user's environment for programs of this service.
    pub fn environment(&self) -> Vec<(&'static OsStr, OsString)> {
        let mut variables = vec![
            ("LD_LIBRARY_PATH", self.prefix.library_path()),
            ("UROM_DEVICE", format!("{DEVICE}@{PCI_ADDRESS}").into()),
        ];
        match &self.kind {
            Kind::Daemon { uromd, file } => {
                let port = uromd.address().rsplit_once(':').map_or("", |(_, port)| port);
                variables.push(("DOCA_UROM_SERVICE_FILE", file.path().into()));
                variables.push(("UROM_SERVICE_PORT", port.into()));
            }
            Kind::Embedded => {
                variables.push(("UROM_PLUGIN_PATH", self.plugins.variable()));
                variables.push(("UROM_CPUS", CPUS.into()));
            }
        }
        variables.into_iter().map(|(name, value)| (OsStr::new(name), value)).collect()
    }
}
