//! The registry of workers and their hosts: a state machine without I/O, whose events return
//! actions. A dismissed worker's *id* is free again; its *serial* identifies its process and is
//! never reused.

mod entry;

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;

use urom_abi::{DocaError, Quantity, WORKER_ID_ANY, WorkerId};
use urom_wire::control::{DaemonToHost, DaemonToWorker, Failure, StartWorker};
use urom_wire::relay::BACKLOG;

use self::entry::{VisitStage, WaitingHost, WorkerEntry, WorkerPhase};
use super::args::DaemonLimits;
use super::discovery::FoundPlugin;
use super::snapshot::WorkerState;

pub(crate) type HostKey = u64;
pub(crate) type Serial = u64;

/// Limit of requests that wait for a starting worker. Each becomes a message to the worker when it
/// is ready, and its queue needs capacity for other messages.
const MOST_WAITING: usize = BACKLOG / 2;

#[derive(Debug)]
pub(crate) enum DaemonAction {
    Spawn {
        serial: Serial,
        id: u64,
        host: HostKey,
        worker: StartWorker,
    },
    ToWorker(Serial, DaemonToWorker),
    /// Close the stream to a worker, which ends it.
    Abandon(Serial),
    ToHost(HostKey, DaemonToHost),
    Expire(Serial, u128),
}

pub(crate) struct Registry {
    limits: DaemonLimits,
    new_token: Box<dyn FnMut() -> Result<u128, Failure>>,
    workers: BTreeMap<Serial, WorkerEntry>,
    last_serial: Serial,
    last_generated: u32,
    stopping: bool,
}

impl Registry {
    pub(crate) fn new(
        limits: DaemonLimits,
        new_token: impl FnMut() -> Result<u128, Failure> + 'static,
    ) -> Registry {
        Registry {
            limits,
            new_token: Box::new(new_token),
            workers: BTreeMap::new(),
            last_serial: 0,
            last_generated: 0,
            stopping: false,
        }
    }

    pub(crate) fn start(
        &mut self,
        host: HostKey,
        request: u64,
        mut worker: StartWorker,
        known: &[FoundPlugin],
    ) -> Vec<DaemonAction> {
        let refused =
            self.check(&worker, Some(known)).and_then(|()| self.has_capacity(host, worker.id));
        if let Err(failure) = refused {
            return vec![failed(host, request, &failure)];
        }
        if worker.id == WORKER_ID_ANY {
            worker.id = self.generate();
        }
        self.begin(WaitingHost { host, request }, worker)
    }

    fn begin(&mut self, waiting: WaitingHost, worker: StartWorker) -> Vec<DaemonAction> {
        let id = worker.id;
        let there = self.workers.iter_mut().find(|(_, entry)| entry.id == id);
        let Some((&serial, entry)) = there else { return self.spawn(waiting, worker) };
        match &mut entry.phase {
            WorkerPhase::Starting(others) => wait(others, id, waiting),
            WorkerPhase::Ready(_) => {
                entry.promise(serial, waiting, Some(worker), (self.new_token)())
            }
        }
    }

    fn spawn(&mut self, waiting: WaitingHost, worker: StartWorker) -> Vec<DaemonAction> {
        let (id, host) = (worker.id, waiting.host);
        self.last_serial += 1;
        let serial = self.last_serial;
        let entry = WorkerEntry {
            id,
            gid: worker.gid,
            plugins: worker.plugins,
            env: worker.env.clone().unwrap_or_default(),
            phase: WorkerPhase::Starting(vec![waiting]),
            abandoned: false,
            visitors: HashMap::new(),
        };
        self.workers.insert(serial, entry);
        vec![DaemonAction::Spawn { serial, id, host, worker }]
    }

    fn of_id(&self, id: u64) -> Option<&WorkerEntry> {
        self.workers.values().find(|entry| entry.id == id)
    }

    /// `plugins` is the host's list, if the request was not checked before.
    fn check(&self, worker: &StartWorker, plugins: Option<&[FoundPlugin]>) -> Result<(), Failure> {
        let refuse = |code, text| Err(Failure::new(code, text));
        if self.stopping {
            return refuse(DocaError::SHUTDOWN, "the daemon is shutting down".to_owned());
        }
        let (wanted, id) = (worker.plugins, worker.id);
        let all = |plugins: &[FoundPlugin]| plugins.iter().fold(0, |mask, it| mask | it.entry.id);
        let known = plugins.map_or(u64::MAX, all);
        if wanted == 0 || wanted & !known != 0 {
            return refuse(
                DocaError::INVALID_VALUE,
                format!(
                    "the plugin mask {wanted:#x} is not made of this service's plugin ids ({known:#x} in all): \
                     or together ids from the plugin list"
                ),
            );
        }
        if let Some(entry) = self.of_id(id) {
            // A silent worker is replaced; the next worker gets the requested environment.
            let is_followed = entry.abandoned && matches!(entry.phase, WorkerPhase::Ready(_));
            let name = WorkerId(id);
            if let Some(env) = &worker.env
                && !is_followed
                && let Some(variable) = entry.differs(env)
            {
                let text = format!(
                    "worker {name} runs already, and {variable} of its environment differs: start it with the same \
                     environment, or without one, or start a worker with another id"
                );
                return refuse(DocaError::ALREADY_EXIST, text);
            }
            if wanted & !entry.plugins != 0 {
                let names = |mask: u64| {
                    let of_mask = |found: &&FoundPlugin| found.entry.id & mask != 0;
                    let found = plugins.unwrap_or_default().iter().filter(of_mask);
                    let names: Vec<_> = found.map(|found| &*found.entry.name).collect();
                    if names.is_empty() { format!("{mask:#x}") } else { names.join(", ") }
                };
                let (has, lacks) = (names(entry.plugins), names(wanted & !entry.plugins));
                let text = format!(
                    "worker {name} runs already with the plugins {has}, without {lacks}: start a worker with another \
                     id, or name all plugins when the first host starts this one"
                );
                return refuse(DocaError::INVALID_VALUE, text);
            }
        }
        Ok(())
    }

    fn has_capacity(&self, host: HostKey, id: u64) -> Result<(), Failure> {
        let full = |text: String| Err(Failure::new(DocaError::FULL, text));
        let DaemonLimits { workers, workers_per_host, .. } = self.limits;
        let count = self.workers.values().map(|entry| entry.count_of(host)).sum::<usize>();
        if count >= workers_per_host {
            return full(format!(
                "this host has {} already, which is the daemon's limit: stop one, or start uromd \
                 with a larger --max-workers-per-host",
                Quantity(workers_per_host, "worker")
            ));
        }
        if self.of_id(id).is_none() && self.workers.len() >= workers {
            return full(format!(
                "the daemon has {} already, which is its limit: stop one, or start uromd with a larger \
                 --max-workers",
                Quantity(workers, "worker")
            ));
        }
        Ok(())
    }

    fn generate(&mut self) -> u64 {
        loop {
            self.last_generated = self.last_generated.wrapping_add(1);
            let WorkerId(id) = WorkerId::generated(self.last_generated);
            if self.of_id(id).is_none() {
                return id;
            }
        }
    }

    pub(crate) fn group(&self, gid: u32) -> Vec<u64> {
        let usable = |entry: &&WorkerEntry| {
            entry.gid == gid && matches!(entry.phase, WorkerPhase::Ready(_)) && !entry.abandoned
        };
        let mut ids: Vec<u64> =
            self.workers.values().filter(usable).map(|entry| entry.id).collect();
        ids.sort_unstable();
        ids
    }

    pub(crate) fn states(&self) -> BTreeMap<Serial, WorkerState> {
        self.workers.iter().map(|(serial, entry)| (*serial, entry.state())).collect()
    }

    /// Removes a host from all waiting lists, when its stream ends or is about to. Idempotent.
    pub(crate) fn host_gone(&mut self, host: HostKey) -> Vec<DaemonAction> {
        let mut actions = Vec::new();
        for (serial, entry) in &mut self.workers {
            if let WorkerPhase::Starting(waiting) = &mut entry.phase {
                waiting.retain(|waiting| waiting.host != host);
            }
            let gone = entry.visitors.extract_if(|_, visitor| {
                visitor.host == host && !matches!(visitor.stage, VisitStage::There)
            });
            let expected = gone.filter(|(_, visitor)| !matches!(visitor.stage, VisitStage::Late));
            actions.extend(expected.map(|(token, _)| {
                DaemonAction::ToWorker(*serial, DaemonToWorker::Forget { token })
            }));
        }
        actions
    }

    pub(crate) fn ready(&mut self, serial: Serial, address: SocketAddr) -> Vec<DaemonAction> {
        let Some(entry) = self.workers.get_mut(&serial) else { return Vec::new() };
        let WorkerPhase::Starting(waiting) = &mut entry.phase else { return Vec::new() };
        let waiting = std::mem::take(waiting);
        entry.phase = WorkerPhase::Ready(address);
        let promise = |waiting| entry.promise(serial, waiting, None, (self.new_token)());
        let mut actions: Vec<DaemonAction> = waiting.into_iter().flat_map(promise).collect();
        if entry.visitors.is_empty() {
            actions.extend(self.dismiss(serial));
        }
        actions
    }

    pub(crate) fn expected(&mut self, serial: Serial, token: u128) -> Vec<DaemonAction> {
        let Some(entry) = self.workers.get_mut(&serial) else { return Vec::new() };
        let (WorkerPhase::Ready(address), Some(visitor)) =
            (&entry.phase, entry.visitors.get_mut(&token))
        else {
            return Vec::new();
        };
        let VisitStage::Pending { request, .. } = visitor.stage else { return Vec::new() };
        visitor.stage = VisitStage::Expected;
        let (id, address) = (entry.id, *address);
        vec![DaemonAction::ToHost(
            visitor.host,
            DaemonToHost::Started { request, id, address, token },
        )]
    }

    pub(crate) fn failed(&mut self, serial: Serial, failure: &Failure) -> Vec<DaemonAction> {
        let mut actions = self.gone(serial, failure);
        actions.push(DaemonAction::Abandon(serial));
        actions
    }

    pub(crate) fn overdue(&mut self, serial: Serial, failure: &Failure) -> Vec<DaemonAction> {
        match self.workers.get(&serial) {
            Some(WorkerEntry { phase: WorkerPhase::Starting(_), .. }) => {
                self.failed(serial, failure)
            }
            _ => Vec::new(),
        }
    }

    pub(crate) fn silent(&mut self, serial: Serial) {
        if let Some(entry) = self.workers.get_mut(&serial) {
            entry.abandoned = true;
        }
    }

    pub(crate) fn arrived(&mut self, serial: Serial, token: u128) {
        // A host without its token cannot have arrived; its request still needs an answer.
        if let Some(entry) = self.workers.get_mut(&serial)
            && let Some(visitor) = entry.visitors.get_mut(&token)
            && !matches!(visitor.stage, VisitStage::Pending { .. })
        {
            visitor.stage = VisitStage::There;
        }
    }

    pub(crate) fn departed(&mut self, serial: Serial, token: u128) {
        if let Some(entry) = self.workers.get_mut(&serial)
            && entry.visitors.get(&token).is_some_and(|one| matches!(one.stage, VisitStage::There))
        {
            entry.visitors.remove(&token);
        }
    }

    pub(crate) fn expired(&mut self, serial: Serial, token: u128) -> Vec<DaemonAction> {
        let Some(entry) = self.workers.get_mut(&serial) else { return Vec::new() };
        let Some(visitor) = entry.visitors.get_mut(&token) else { return Vec::new() };
        let (host, forget) =
            (visitor.host, DaemonAction::ToWorker(serial, DaemonToWorker::Forget { token }));
        match visitor.stage {
            VisitStage::There => Vec::new(),
            VisitStage::Late => {
                // The worker would have reported the host's arrival by now.
                entry.visitors.remove(&token);
                Vec::new()
            }
            VisitStage::Expected => {
                visitor.stage = VisitStage::Late;
                vec![forget, DaemonAction::Expire(serial, token)]
            }
            VisitStage::Pending { request, .. } => {
                entry.visitors.remove(&token);
                let text = format!(
                    "worker {} does not answer the daemon: start one with another id",
                    WorkerId(entry.id)
                );
                vec![forget, failed(host, request, &Failure::new(DocaError::TIME_OUT, text))]
            }
        }
    }

    /// A worker's last host left: the worker ends, unless a host is on the way.
    pub(crate) fn empty(&mut self, serial: Serial) -> Vec<DaemonAction> {
        let is_no_matter = |entry: &WorkerEntry| {
            entry
                .visitors
                .values()
                .all(|one| matches!(one.stage, VisitStage::There | VisitStage::Late))
        };
        match self.workers.get(&serial) {
            // A worker that is not ready never had a host; waiting hosts still need an answer.
            Some(entry) if matches!(entry.phase, WorkerPhase::Ready(_)) && is_no_matter(entry) => {
                self.dismiss(serial)
            }
            _ => Vec::new(),
        }
    }

    pub(crate) fn stop(&mut self) -> Vec<DaemonAction> {
        self.stopping = true;
        self.end_all(&Failure::new(DocaError::SHUTDOWN, "the daemon is shutting down"))
    }

    /// Ends all workers at once. Waiting hosts get the failure.
    pub(crate) fn end_all(&mut self, failure: &Failure) -> Vec<DaemonAction> {
        let serials: Vec<Serial> = self.workers.keys().copied().collect();
        let mut actions = Vec::new();
        for serial in serials {
            actions.push(DaemonAction::ToWorker(serial, DaemonToWorker::Stop));
            actions.extend(self.failed(serial, failure));
        }
        actions
    }

    fn dismiss(&mut self, serial: Serial) -> Vec<DaemonAction> {
        self.workers.remove(&serial);
        vec![DaemonAction::ToWorker(serial, DaemonToWorker::Leave), DaemonAction::Abandon(serial)]
    }

    /// Removes a worker. Hosts waiting for its start get the failure; joining hosts another worker.
    pub(crate) fn gone(&mut self, serial: Serial, failure: &Failure) -> Vec<DaemonAction> {
        let Some(WorkerEntry { phase, visitors, .. }) = self.workers.remove(&serial) else {
            return Vec::new();
        };
        if let WorkerPhase::Starting(waiting) = phase {
            let told = |WaitingHost { host, request }| failed(host, request, failure);
            return waiting.into_iter().map(told).collect();
        }
        let pending = visitors.into_values().filter_map(|one| match one.stage {
            VisitStage::Pending { request, again } => {
                Some((WaitingHost { host: one.host, request }, again))
            }
            _ => None,
        });
        let mut pending: Vec<_> = pending.collect();
        // The first host starts the new worker: prefer a host that gave an environment.
        pending.sort_by_key(|(_, again)| again.as_ref().is_none_or(|worker| worker.env.is_none()));
        let mut actions = Vec::new();
        for (waiting, again) in pending {
            let WaitingHost { host, request } = waiting;
            let begun = match again {
                Some(worker) if !self.stopping => {
                    self.check(&worker, None).map(|()| self.begin(waiting, worker))
                }
                _ => Err(failure.clone()),
            };
            actions.extend(begun.unwrap_or_else(|failure| vec![failed(host, request, &failure)]));
        }
        // Start workers first: a host that does not read is removed when it is notified.
        actions.sort_by_key(|action| !matches!(action, DaemonAction::Spawn { .. }));
        actions
    }
}

fn wait(others: &mut Vec<WaitingHost>, id: u64, waiting: WaitingHost) -> Vec<DaemonAction> {
    if others.len() >= MOST_WAITING {
        let text = format!(
            "{MOST_WAITING} requests wait for worker {}, which is starting, and that is the most: ask again when it runs",
            WorkerId(id)
        );
        let failure = Failure::new(DocaError::FULL, text);
        return vec![failed(waiting.host, waiting.request, &failure)];
    }
    others.push(waiting);
    Vec::new()
}

fn failed(host: HostKey, request: u64, failure: &Failure) -> DaemonAction {
    DaemonAction::ToHost(host, DaemonToHost::Failed { request, failure: failure.clone() })
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
