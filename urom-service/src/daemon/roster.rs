//! The roster: which workers there are, who waits for them, and who is on the way to them.
//!
//! A state machine without input or output: each event gives the actions it asks for. A worker is known by its id as
//! long as hosts can be sent to it, and by its *serial*, which is never used twice, as long as its process lives: an id
//! is free again the moment its worker was told to leave.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::SocketAddr;

use urom_abi::{DocaError, WORKER_ID_ANY};

use crate::wire::control::{DaemonToHost, DaemonToWorker, Failure, StartWorker};

/// A host's stream.
pub(crate) type HostKey = u64;
/// One worker process.
pub(crate) type Serial = u64;

/// Generated ids have this bit, which keeps them out of the way of chosen ones (`task << 32 | rank`).
const GENERATED: u64 = 1 << 63;

/// What an event asks for.
#[derive(Debug)]
pub(crate) enum Action {
    /// Start a process.
    Spawn { serial: Serial, id: u64, host: HostKey, worker: StartWorker },
    /// Tell a worker.
    ToWorker(Serial, DaemonToWorker),
    /// End the stream to a worker, and the worker with it.
    Abandon(Serial),
    /// Tell a host.
    ToHost(HostKey, DaemonToHost),
    /// Let a ticket run out in a while.
    Expire(Serial, u128),
}

/// The workers hosts can be sent to.
#[derive(Debug, Default)]
pub(crate) struct Roster {
    /// By id; in order, because a group's ids are told in order.
    workers: BTreeMap<u64, Entry>,
    /// The id of each worker that is in `workers`.
    ids: HashMap<Serial, u64>,
    last_serial: Serial,
    last_generated: u64,
    stopping: bool,
}

#[derive(Debug)]
struct Entry {
    serial: Serial,
    gid: u32,
    plugins: u64,
    state: State,
    /// Hosts on the way, or about to be.
    tickets: HashMap<u128, Visitor>,
}

/// A host with a ticket.
#[derive(Debug)]
struct Visitor {
    host: HostKey,
    /// It has not been told: the worker has not confirmed the ticket.
    pending: Option<Pending>,
}

/// A request whose host waits for the worker's word. Without it a host would be sent to a worker that has just died, in
/// the moment before the daemon hears of that.
#[derive(Debug)]
struct Pending {
    request: u64,
    /// What was asked for of a worker that ran already; if that is gone, another one will do.
    again: Option<StartWorker>,
}

#[derive(Debug)]
enum State {
    /// The process is there; these hosts' requests wait for it.
    Starting(Vec<(HostKey, u64)>),
    Ready(SocketAddr),
}

impl Roster {
    /// A host wants a worker. `known` are the ids of all plugins it was told of.
    pub(crate) fn start(
        &mut self,
        host: HostKey,
        request: u64,
        mut worker: StartWorker,
        known: u64,
        new_ticket: impl FnMut() -> u128,
    ) -> Vec<Action> {
        if let Err(failure) = self.check(&worker, known) {
            return vec![failed(host, request, &failure)];
        }
        if worker.id == WORKER_ID_ANY {
            worker.id = self.generate();
        }
        let id = worker.id;
        if let Some(entry) = self.workers.get_mut(&id) {
            return match &mut entry.state {
                State::Starting(waiting) => {
                    waiting.push((host, request));
                    Vec::new()
                }
                State::Ready(_) => entry.promise(host, request, Some(worker), new_ticket),
            };
        }
        self.spawn(host, request, worker)
    }

    /// A worker that there is not.
    fn spawn(&mut self, host: HostKey, request: u64, worker: StartWorker) -> Vec<Action> {
        let id = worker.id;
        self.last_serial += 1;
        let serial = self.last_serial;
        let entry = Entry {
            serial,
            gid: worker.gid,
            plugins: worker.plugins,
            state: State::Starting(vec![(host, request)]),
            tickets: HashMap::new(),
        };
        self.workers.insert(id, entry);
        self.ids.insert(serial, id);
        vec![Action::Spawn { serial, id, host, worker }]
    }

    fn check(&self, worker: &StartWorker, known: u64) -> Result<(), Failure> {
        let refuse = |code, text| Err(Failure::new(code, text));
        if self.stopping {
            return refuse(DocaError::SHUTDOWN, "the daemon is shutting down".to_owned());
        }
        let (wanted, id) = (worker.plugins, worker.id);
        if wanted == 0 || wanted & !known != 0 {
            return refuse(
                DocaError::INVALID_VALUE,
                format!(
                    "the plugin mask {wanted:#x} is not made of this service's plugin ids ({known:#x} in all): \
                     or together ids from the plugin list"
                ),
            );
        }
        if let Some(entry) = self.workers.get(&id) {
            if worker.env.is_some() {
                let text = format!(
                    "worker {id} runs already, so its environment cannot be set: start it without one"
                );
                return refuse(DocaError::ALREADY_EXIST, text);
            }
            if wanted & !entry.plugins != 0 {
                let has = entry.plugins;
                return refuse(
                    DocaError::INVALID_VALUE,
                    format!(
                        "worker {id} runs already with the plugins {has:#x}, which does not cover {wanted:#x}"
                    ),
                );
            }
        }
        Ok(())
    }

    fn generate(&mut self) -> u64 {
        loop {
            let id = GENERATED | self.last_generated;
            self.last_generated = (self.last_generated + 1) % (GENERATED - 1);
            if !self.workers.contains_key(&id) {
                return id;
            }
        }
    }

    /// The ids of a group's workers that hosts can use, rising.
    pub(crate) fn group(&self, gid: u32) -> Vec<u64> {
        let usable = |entry: &Entry| entry.gid == gid && matches!(entry.state, State::Ready(_));
        self.workers.iter().filter(|(_, entry)| usable(entry)).map(|(id, _)| *id).collect()
    }

    /// A host's stream is over: it waits no more, and does not come.
    pub(crate) fn host_gone(&mut self, host: HostKey) -> Vec<Action> {
        let mut actions = Vec::new();
        for entry in self.workers.values_mut() {
            if let State::Starting(waiting) = &mut entry.state {
                waiting.retain(|(who, _)| *who != host);
            }
            let gone = entry.tickets.extract_if(|_, visitor| visitor.host == host);
            actions.extend(
                gone.map(|(ticket, _)| Action::ToWorker(entry.serial, DaemonToWorker::Forget { ticket })),
            );
        }
        actions
    }

    /// A worker has opened its plugins and listens.
    pub(crate) fn ready(
        &mut self,
        serial: Serial,
        address: SocketAddr,
        mut new_ticket: impl FnMut() -> u128,
    ) -> Vec<Action> {
        let Some((_, entry)) = self.find(serial) else { return Vec::new() };
        let State::Starting(waiting) = &mut entry.state else { return Vec::new() };
        let waiting = std::mem::take(waiting);
        entry.state = State::Ready(address);
        if waiting.is_empty() {
            // Everybody who wanted it is gone.
            return self.dismiss(serial);
        }
        let promise = |(host, request)| entry.promise(host, request, None, &mut new_ticket);
        waiting.into_iter().flat_map(promise).collect()
    }

    /// A worker waits for the host with this ticket.
    pub(crate) fn expected(&mut self, serial: Serial, ticket: u128) -> Vec<Action> {
        let Some((id, entry)) = self.find(serial) else { return Vec::new() };
        let (State::Ready(address), Some(visitor)) = (&entry.state, entry.tickets.get_mut(&ticket)) else {
            return Vec::new();
        };
        let Some(Pending { request, .. }) = visitor.pending.take() else { return Vec::new() };
        let address = *address;
        vec![Action::ToHost(visitor.host, DaemonToHost::Started { request, id, address, ticket })]
    }

    /// A worker cannot work, or did not get ready in time.
    pub(crate) fn failed(&mut self, serial: Serial, failure: &Failure) -> Vec<Action> {
        let mut actions = self.remove(serial, failure);
        actions.push(Action::Abandon(serial));
        actions
    }

    /// A worker is not ready, and its time is up.
    pub(crate) fn overdue(&mut self, serial: Serial, failure: &Failure) -> Vec<Action> {
        match self.find(serial) {
            Some((_, Entry { state: State::Starting(_), .. })) => self.failed(serial, failure),
            _ => Vec::new(),
        }
    }

    /// A worker is no more; `failure` is for those who wait for it.
    pub(crate) fn gone(&mut self, serial: Serial, failure: &Failure) -> Vec<Action> {
        self.remove(serial, failure)
    }

    /// A host came to a worker.
    pub(crate) fn arrived(&mut self, serial: Serial, ticket: u128) {
        if let Some((_, entry)) = self.find(serial) {
            entry.tickets.remove(&ticket);
        }
    }

    /// A host has not come for long.
    pub(crate) fn expired(&mut self, serial: Serial, ticket: u128) -> Vec<Action> {
        let Some((id, entry)) = self.find(serial) else { return Vec::new() };
        let Some(Visitor { host, pending }) = entry.tickets.remove(&ticket) else { return Vec::new() };
        let mut actions = vec![Action::ToWorker(serial, DaemonToWorker::Forget { ticket })];
        actions.extend(pending.map(|Pending { request, .. }| {
            let text = format!("worker {id} does not answer the daemon: start one with another id");
            failed(host, request, &Failure::new(DocaError::TIME_OUT, text))
        }));
        actions
    }

    /// A worker's last host left: it goes, unless somebody is on the way.
    pub(crate) fn empty(&mut self, serial: Serial) -> Vec<Action> {
        match self.find(serial) {
            Some((_, entry)) if entry.tickets.is_empty() => self.dismiss(serial),
            _ => Vec::new(),
        }
    }

    /// The daemon ends: no new workers, and those that are there stop.
    pub(crate) fn stop(&mut self) -> Vec<Action> {
        self.stopping = true;
        let failure = Failure::new(DocaError::SHUTDOWN, "the daemon is shutting down");
        let serials: BTreeSet<Serial> = self.ids.keys().copied().collect();
        let mut actions = Vec::new();
        for serial in serials {
            actions.push(Action::ToWorker(serial, DaemonToWorker::Stop));
            actions.extend(self.remove(serial, &failure));
            actions.push(Action::Abandon(serial));
        }
        actions
    }

    fn find(&mut self, serial: Serial) -> Option<(u64, &mut Entry)> {
        let id = *self.ids.get(&serial)?;
        Some((id, self.workers.get_mut(&id)?))
    }

    /// Sends a worker home, and forgets it.
    fn dismiss(&mut self, serial: Serial) -> Vec<Action> {
        if let Some(id) = self.ids.remove(&serial) {
            self.workers.remove(&id);
        }
        vec![Action::ToWorker(serial, DaemonToWorker::Leave), Action::Abandon(serial)]
    }

    /// Forgets a worker. Those who wait for it are told; those who wanted to join it get another.
    fn remove(&mut self, serial: Serial, failure: &Failure) -> Vec<Action> {
        let Some(id) = self.ids.remove(&serial) else { return Vec::new() };
        let Some(Entry { state, tickets, .. }) = self.workers.remove(&id) else { return Vec::new() };
        if let State::Starting(waiting) = state {
            return waiting.into_iter().map(|(host, request)| failed(host, request, failure)).collect();
        }
        let mut actions = Vec::new();
        for Visitor { host, pending } in tickets.into_values() {
            let Some(Pending { request, again }) = pending else { continue };
            match again {
                Some(worker) if !self.stopping => actions.extend(self.anew(host, request, worker)),
                _ => actions.push(failed(host, request, failure)),
            }
        }
        actions
    }

    /// Starts a worker in the place of one that is gone, or waits for it if it is being started.
    fn anew(&mut self, host: HostKey, request: u64, worker: StartWorker) -> Vec<Action> {
        if let Err(failure) = self.check(&worker, u64::MAX) {
            return vec![failed(host, request, &failure)];
        }
        match self.workers.get_mut(&worker.id).map(|entry| &mut entry.state) {
            Some(State::Starting(waiting)) => {
                waiting.push((host, request));
                Vec::new()
            }
            _ => self.spawn(host, request, worker),
        }
    }
}

fn failed(host: HostKey, request: u64, failure: &Failure) -> Action {
    Action::ToHost(host, DaemonToHost::Failed { request, failure: failure.clone() })
}

impl Entry {
    /// Gives a host a ticket. The worker hears of it first, and the host once the worker has confirmed it.
    fn promise(
        &mut self,
        host: HostKey,
        request: u64,
        again: Option<StartWorker>,
        mut new_ticket: impl FnMut() -> u128,
    ) -> Vec<Action> {
        let ticket = new_ticket();
        self.tickets.insert(ticket, Visitor { host, pending: Some(Pending { request, again }) });
        vec![
            Action::ToWorker(self.serial, DaemonToWorker::Expect { ticket }),
            Action::Expire(self.serial, ticket),
        ]
    }
}

#[cfg(test)]
#[path = "roster_tests.rs"]
mod tests;
