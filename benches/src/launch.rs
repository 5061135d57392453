//! A launch: its cores and transport, a daemon, a worker.

use std::ops::Deref;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use urom_host::{CpuSet, Plugin, Service, Worker, block_on};
use urom_tests::{PluginDirectory, Uromd};

use crate::cores::Cores;
use crate::figure::Figure;
use crate::statistics::in_turns;
use crate::transport::Transport;

/// A worker's limit of commands in flight.
pub(crate) const DEPTH: u64 = 64;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Launch {
    /// Fewer and shorter rounds; the figures must not be quoted.
    pub(crate) quick: bool,
    pub(crate) transport: Transport,
    pub(crate) cores: Cores,
}

impl Launch {
    pub(crate) fn rounds(&self) -> usize {
        if self.quick { 5 } else { 15 }
    }

    pub(crate) fn round(&self) -> Duration {
        Duration::from_millis(if self.quick { 8 } else { 20 })
    }

    /// Number of trips in a round, at least `least`, if one takes `each` nanoseconds.
    pub(crate) fn trips(&self, each: f64, least: u64) -> u64 {
        ((self.round().as_nanos() as f64 / each) as u64).max(least)
    }

    pub(crate) fn samples(&self, each: f64) -> u64 {
        let whole = if self.quick { 1e8 } else { 4e8 };
        ((whole / each) as u64).clamp(100, 200_000)
    }

    /// Measures the kit, side 0, and its peer, side 1, in turns. A round returns nanoseconds.
    pub(crate) fn compare(
        &self,
        name: String,
        peer: &str,
        round: impl FnMut(usize) -> Result<f64>,
    ) -> Result<Figure> {
        let rounds = in_turns(self.rounds(), 2, round)?;
        Figure::in_turns(name, "ns", peer, &rounds).context("no round was measured")
    }

    pub(crate) fn daemon(&self, plugins: &[&str]) -> Result<Daemon> {
        Daemon::start(PluginDirectory::with(plugins)?, |command| command)
    }
}

/// A daemon and its plugins. Dropping it ends the daemon, after its hosts, and panics if the end
/// fails.
pub(crate) struct Daemon {
    uromd: Option<Uromd>,
    // Needed as long as the daemon may start workers.
    _plugins: PluginDirectory,
}

impl Daemon {
    pub(crate) fn start(
        plugins: PluginDirectory,
        set: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Result<Daemon> {
        let uromd =
            Uromd::start_with(plugins.variable(), |command| set(command.args(["-l", "30"])))?;
        Ok(Daemon { uromd: Some(uromd), _plugins: plugins })
    }

    pub(crate) fn connect(&self) -> Result<Service> {
        Ok(Service::builder().address(self.address()).connect_blocking()?)
    }
}

impl Deref for Daemon {
    type Target = Uromd;

    fn deref(&self) -> &Uromd {
        self.uromd.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let ended = self.uromd.take().map(Uromd::stop);
        let in_order = ended.is_none_or(|ended| ended.is_ok_and(|status| status.success()));
        assert!(in_order || std::thread::panicking(), "uromd did not end in order");
    }
}

pub(crate) fn worker(service: &Service, plugins: &[&Plugin], core: usize) -> Result<Worker> {
    let cpus: CpuSet = [core].into_iter().collect();
    let builder = service.worker().cpus(cpus).max_inflight(DEPTH as u32);
    let builder = plugins.iter().fold(builder, |builder, plugin| builder.plugin(**plugin));
    Ok(block_on(builder.start())?)
}
