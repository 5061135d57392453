//! One worker of the registry: its state, and its hosts that are present or on the way.

use std::collections::HashMap;
use std::net::SocketAddr;

use urom_wire::control::{DaemonToWorker, Failure, StartWorker};

use super::{DaemonAction, HostKey, Serial, failed};
use crate::daemon::snapshot::WorkerState;

#[derive(Debug)]
pub(super) struct WorkerEntry {
    pub(super) id: u64,
    pub(super) gid: u32,
    pub(super) plugins: u64,
    pub(super) env: Vec<String>,
    pub(super) phase: WorkerPhase,
    /// It timed out and is about to be killed.
    pub(super) abandoned: bool,
    pub(super) visitors: HashMap<u128, Visitor>,
}

#[derive(Debug)]
pub(super) enum WorkerPhase {
    /// These requests wait for the starting process.
    Starting(Vec<WaitingHost>),
    Ready(SocketAddr),
}

#[derive(Debug)]
pub(super) struct WaitingHost {
    pub(super) host: HostKey,
    pub(super) request: u64,
}

#[derive(Debug)]
pub(super) struct Visitor {
    pub(super) host: HostKey,
    pub(super) stage: VisitStage,
}

#[derive(Debug)]
pub(super) enum VisitStage {
    /// The worker has not confirmed the token, and the host has not received it. Otherwise the
    /// host might be sent to a worker that has just died.
    Pending {
        request: u64,
        /// A request to join a running worker. If that worker has ended, another will do.
        again: Option<StartWorker>,
    },
    Expected,
    /// The worker was told to reject it, but may have accepted it just before.
    Late,
    There,
}

impl WorkerEntry {
    pub(super) fn state(&self) -> WorkerState {
        match self.phase {
            _ if self.abandoned => WorkerState::Silent,
            WorkerPhase::Starting(_) => WorkerState::Starting,
            WorkerPhase::Ready(_) => WorkerState::Ready,
        }
    }

    /// Returns the first variable that differs from the worker's. Its value may be secret.
    pub(super) fn differs(&self, env: &[String]) -> Option<String> {
        let (own, other) = (variables(&self.env), variables(env));
        let differs = |name: &&str| own.get(name) != other.get(name);
        let mut names = env.iter().chain(&self.env).map(|text| variable(text).0);
        Some(match names.find(differs)? {
            "" => "an entry that is not NAME=value".to_owned(),
            name => format!("`{}`", name.escape_debug()),
        })
    }

    /// Registers a host that may arrive with a token, or fails its request. The worker learns the
    /// token first, the host after the worker's confirmation.
    pub(super) fn promise(
        &mut self,
        serial: Serial,
        WaitingHost { host, request }: WaitingHost,
        again: Option<StartWorker>,
        token: Result<u128, Failure>,
    ) -> Vec<DaemonAction> {
        let token = match token {
            Ok(token) => token,
            Err(failure) => return vec![failed(host, request, &failure)],
        };
        self.visitors
            .insert(token, Visitor { host, stage: VisitStage::Pending { request, again } });
        let expect = DaemonAction::ToWorker(serial, DaemonToWorker::Expect { token });
        vec![expect, DaemonAction::Expire(serial, token)]
    }

    pub(super) fn count_of(&self, host: HostKey) -> usize {
        let counts =
            |visitor: &&Visitor| visitor.host == host && !matches!(visitor.stage, VisitStage::Late);
        let waiting = match &self.phase {
            WorkerPhase::Starting(waiting) => waiting.iter().filter(|one| one.host == host).count(),
            WorkerPhase::Ready(_) => 0,
        };
        waiting + self.visitors.values().filter(counts).count()
    }
}

/// An environment as a map: for equal names, the later value counts.
fn variables(env: &[String]) -> HashMap<&str, &str> {
    env.iter().map(|text| variable(text)).collect()
}

fn variable(text: &str) -> (&str, &str) {
    text.split_once('=').unwrap_or(("", text))
}
