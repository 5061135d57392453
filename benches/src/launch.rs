//! A launch: a process of its own that measures a part of a suite.
//!
//! The process is the host under measurement, unless the suite starts others. Memory and threads
//! lie differently in each launch, so a run has several, and takes the medians.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::Pid;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use urom_host::{CpuSet, Plugin, Service, Worker, block_on};
use urom_tests::{PluginDirectory, Uromd};

use crate::cache_line;
use crate::child::{self, Child};
use crate::cores::Cores;
use crate::figure::{Figure, merge};
use crate::suites::Suite;
use crate::suites::counted::COUNTS_DIRECTORY;
use crate::transport::{Environment, Transport};

/// The launches of a full run, and the least of one to record.
pub(crate) const LAUNCHES: usize = 5;

/// The commands that a worker allows in flight.
pub(crate) const DEPTH: u64 = 64;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Launch {
    /// Fewer and shorter rounds: a first look, no figures to quote.
    pub(crate) quick: bool,
    pub(crate) transport: Transport,
    pub(crate) cores: Cores,
}

/// Measures a suite in `launches` launches and merges their figures. A cache line's round trip
/// before each becomes a figure too.
///
/// # Errors
/// Those of the first launch that fails.
pub(crate) fn measure(suite: &Suite, quick: bool, launches: usize) -> Result<Vec<Figure>> {
    let cores = Cores::find()?;
    let mut measured = Vec::new();
    for number in 1..=launches {
        if suite.parts.iter().any(|part| !part.once) {
            eprintln!("{}: launch {number} of {launches}", suite.name);
            let name = format!("{}/cache-line", suite.name);
            let ping = Figure::new(name, "ns", cache_line::round_trip(&cores)?);
            measured.push(vec![ping.note("a cache line from one core to the other and back")]);
        }
        for (index, part) in suite.parts.iter().enumerate() {
            if part.once && number > 1 {
                continue;
            }
            for environment in part.environments {
                let (transport, cores) = (environment.transport, cores.clone());
                let launch = Launch { quick, transport, cores };
                for _ in 0..if quick { 1 } else { part.processes } {
                    let figures = in_a_process(suite, index, environment, &launch);
                    measured.push(figures.with_context(|| {
                        format!("launch {number}, {}", environment.transport.name())
                    })?);
                }
            }
        }
    }
    Ok(merge(measured))
}

fn in_a_process(
    suite: &Suite,
    part: usize,
    environment: &Environment,
    launch: &Launch,
) -> Result<Vec<Figure>> {
    let counts = TempDir::new()?;
    let launch = serde_json::to_string(launch)?;
    let mut command = child::own(["--launch", suite.name, &part.to_string(), &launch])?;
    Environment::OWN.iter().for_each(|name| _ = command.env_remove(name));
    command.envs(environment.variables.iter().copied()).env(COUNTS_DIRECTORY, counts.path());
    let mut process = Child::start(command)?;
    let figures = process.answer()?;
    process.finish()?;
    Ok(figures)
}

impl Launch {
    pub(crate) fn rounds(&self) -> usize {
        if self.quick { 5 } else { 15 }
    }

    pub(crate) fn round(&self) -> Duration {
        Duration::from_millis(if self.quick { 8 } else { 20 })
    }

    /// The trips of a round in which one takes `each` nanoseconds, at least `least`.
    pub(crate) fn trips(&self, each: f64, least: u64) -> u64 {
        ((self.round().as_nanos() as f64 / each) as u64).max(least)
    }

    /// The single trips in a histogram when one takes `each` nanoseconds.
    pub(crate) fn samples(&self, each: f64) -> u64 {
        let whole = if self.quick { 1e8 } else { 4e8 };
        ((whole / each) as u64).clamp(100, 200_000)
    }

    /// Starts a daemon with some plugins.
    ///
    /// # Errors
    /// When it was not built, or does not come up.
    pub(crate) fn daemon(&self, plugins: &[&str]) -> Result<Daemon> {
        Daemon::start(PluginDirectory::with(plugins)?, |command| command)
    }
}

/// A daemon and its plugins. Dropping it ends the daemon, after its hosts, and panics when that
/// does not end in order.
pub(crate) struct Daemon {
    uromd: Option<Uromd>,
    // As long as the daemon may start workers.
    _plugins: PluginDirectory,
}

impl Daemon {
    /// Starts one after `set` has added arguments.
    ///
    /// # Errors
    /// When it was not built, or does not come up.
    pub(crate) fn start(
        plugins: PluginDirectory,
        set: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Result<Daemon> {
        let uromd =
            Uromd::start_with(plugins.variable(), |command| set(command.args(["-l", "30"])))?;
        Ok(Daemon { uromd: Some(uromd), _plugins: plugins })
    }

    fn uromd(&self) -> &Uromd {
        self.uromd.as_ref().expect("it is there until it is dropped")
    }

    pub(crate) fn address(&self) -> &str {
        self.uromd().address()
    }

    pub(crate) fn pid(&self) -> Pid {
        self.uromd().pid()
    }

    /// Connects to it.
    ///
    /// # Errors
    /// The service's.
    pub(crate) fn connect(&self) -> Result<Service> {
        Ok(Service::builder().address(self.address()).connect()?)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let ended = self.uromd.take().map(Uromd::stop);
        let in_order = ended.is_none_or(|ended| ended.is_ok_and(|status| status.success()));
        assert!(in_order || std::thread::panicking(), "uromd did not end in order");
    }
}

/// Starts a worker on a core, with some plugins.
///
/// # Errors
/// When it does not start.
pub(crate) fn worker(service: &Service, plugins: &[&Plugin], core: usize) -> Result<Worker> {
    let cpus: CpuSet = [core].into_iter().collect();
    let builder = service.worker().any_id().cpus(cpus).max_inflight(DEPTH as u32);
    let builder = plugins.iter().fold(builder, |builder, plugin| builder.plugin(**plugin));
    Ok(block_on(builder.start())?)
}
