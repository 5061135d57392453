//! The daemon's state at one moment, for metrics and for operators.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::observed::{ObservedWorker, ObservedWorkers};
use super::registry::Serial;

/// Shares the pages of running workers: their counters go on.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) started: SystemTime,
    pub(crate) address: SocketAddr,
    pub(crate) draining: bool,
    /// The number of plugins that were found; `None` before the first search has ended.
    pub(crate) plugins: Option<usize>,
    pub(crate) hosts: Vec<SocketAddr>,
    pub(crate) states: BTreeMap<Serial, WorkerState>,
    pub(crate) observed: ObservedWorkers,
    pub(crate) refused: BTreeMap<&'static str, u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WorkerState {
    Starting,
    Ready,
    /// It does not answer the daemon, which ends it.
    Silent,
    /// Its last host has left.
    Ending,
}

impl WorkerState {
    pub(crate) const ALL: [WorkerState; 4] =
        [Self::Starting, Self::Ready, Self::Silent, Self::Ending];

    pub(crate) fn name(self) -> &'static str {
        match self {
            WorkerState::Starting => "starting",
            WorkerState::Ready => "ready",
            WorkerState::Silent => "silent",
            WorkerState::Ending => "ending",
        }
    }
}

impl Snapshot {
    pub(crate) fn workers(&self) -> impl Iterator<Item = (WorkerState, &ObservedWorker)> {
        self.observed.running.iter().map(|(serial, worker)| {
            (self.states.get(serial).copied().unwrap_or(WorkerState::Ending), worker)
        })
    }
}

/// Hosts that the daemon refused, by reason.
#[derive(Debug, Clone)]
pub(crate) struct Refusals(Arc<Mutex<BTreeMap<&'static str, u64>>>);

/// All reasons. Each has a count from the start, so that the first refusal is an increase.
const REASONS: [&str; 10] = [
    "draining",
    "full",
    "incomplete",
    "key",
    "not_urom",
    "plugins",
    "protocol",
    "role",
    "silent",
    "ucx",
];

impl Default for Refusals {
    fn default() -> Refusals {
        Refusals(Arc::new(Mutex::new(REASONS.map(|reason| (reason, 0)).into())))
    }
}

impl Refusals {
    pub(crate) fn count(&self, reason: &'static str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(reason).or_default() += 1;
    }

    pub(crate) fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
