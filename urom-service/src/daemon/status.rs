//! The daemon's state as JSON, for operators' commands and programs.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::snapshot::Snapshot;

/// Times are seconds since 1970; durations are seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ServiceStatus {
    pub(crate) version: String,
    pub(crate) ucx: String,
    pub(crate) address: String,
    pub(crate) started: u64,
    /// Whether it refuses new hosts.
    pub(crate) draining: bool,
    pub(crate) hosts: Vec<String>,
    pub(crate) workers: Vec<WorkerStatus>,
    pub(crate) commands: Vec<CommandStatus>,
}

/// A worker from its start to the end of its process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WorkerStatus {
    pub(crate) id: String,
    pub(crate) group: u32,
    pub(crate) state: String,
    pub(crate) started: u64,
    pub(crate) plugins: Vec<String>,
    /// Connections of hosts.
    pub(crate) hosts: u64,
    /// Bytes of answers that hosts have not read.
    pub(crate) unread: u64,
    /// Bytes of memory that hosts share with it.
    pub(crate) memory: u64,
    pub(crate) commands: u64,
}

/// A command of a plugin, summed over all workers since the daemon started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CommandStatus {
    pub(crate) plugin: String,
    pub(crate) command: String,
    pub(crate) received: u64,
    pub(crate) in_flight: u64,
    pub(crate) failed: u64,
    /// The time that half of the commands do not exceed, and 99 in a hundred.
    pub(crate) p50: Option<f64>,
    pub(crate) p99: Option<f64>,
}

pub(super) fn status(snapshot: &Snapshot) -> ServiceStatus {
    let sums = snapshot.observed.sums();
    let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
    let commands = sums.plugins.iter().flat_map(|(plugin, sums)| {
        sums.received().map(move |(command, sums)| CommandStatus {
            plugin: plugin.clone(),
            command,
            received: sums.received(),
            in_flight: sums.in_flight(),
            failed: sums.failed(),
            p50: sums.quantile(0.5).map(seconds),
            p99: sums.quantile(0.99).map(seconds),
        })
    });
    let workers = snapshot.workers().map(|(state, worker)| {
        let header = worker.page.header();
        let commands = worker.plugins.iter().flat_map(|found| worker.page.rows_of(found.entry.id));
        WorkerStatus {
            id: worker.id.to_string(),
            group: worker.gid,
            state: state.name().to_owned(),
            started: since_1970(worker.started),
            plugins: worker.plugins.iter().map(|found| found.entry.name.clone()).collect(),
            hosts: header.hosts.get(),
            unread: header.unread.get(),
            memory: header.memory_bytes.iter().map(|bytes| bytes.get()).sum(),
            commands: commands.map(|row| row.received.get()).sum(),
        }
    });
    ServiceStatus {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ucx: ucx::version().to_string(),
        address: snapshot.address.to_string(),
        started: since_1970(snapshot.started),
        draining: snapshot.draining,
        hosts: snapshot.hosts.iter().map(ToString::to_string).collect(),
        workers: workers.collect(),
        commands: commands.collect(),
    }
}

fn since_1970(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs()
}
