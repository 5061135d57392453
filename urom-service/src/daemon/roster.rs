//! The roster: the workers, the hosts that wait for them, and the hosts on the way to them.
//!
//! A state machine without input or output: each event returns actions. A worker's *id* is free
//! again when the worker is told to leave; its *serial* identifies its process and is never used
//! twice.

mod entry;
mod host;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::SocketAddr;

use urom_abi::{Count, DocaError, WORKER_ID_ANY, WorkerId};
use urom_wire::control::{DaemonToHost, DaemonToWorker, Failure, StartWorker};
use urom_wire::relay::BACKLOG;

use self::entry::{Entry, Pending, State, Visitor, Waiting};
use self::host::Host;
use super::config::Limits;

pub(crate) type HostKey = u64;
pub(crate) type Serial = u64;

/// How many requests may wait for one worker that starts. When it is ready each is a message to it,
/// all at once, and its queue has to have room for others besides.
const MOST_WAITING: usize = BACKLOG / 2;

#[derive(Debug)]
pub(crate) enum Action {
    Spawn {
        serial: Serial,
        id: u64,
        host: HostKey,
        worker: StartWorker,
    },
    ToWorker(Serial, DaemonToWorker),
    /// End the stream to a worker, and the worker with it.
    Abandon(Serial),
    ToHost(HostKey, DaemonToHost),
    Expire(Serial, u128),
}

#[derive(Debug, Default)]
pub(crate) struct Roster {
    limits: Limits,
    /// By id; in order, because a group's ids are told in order.
    workers: BTreeMap<u64, Entry>,
    ids: HashMap<Serial, u64>,
    /// The hosts that asked for workers and are still connected.
    hosts: HashMap<HostKey, Host>,
    last_serial: Serial,
    last_generated: u32,
    stopping: bool,
}

impl Roster {
    pub(crate) fn new(limits: Limits) -> Roster {
        Roster { limits, ..Roster::default() }
    }

    /// A host wants a worker. `known` are the ids of all plugins it was told of.
    pub(crate) fn start(
        &mut self,
        host: HostKey,
        request: u64,
        mut worker: StartWorker,
        known: u64,
        new_ticket: impl FnMut() -> Result<u128, Failure>,
    ) -> Vec<Action> {
        if let Err(failure) =
            self.check(&worker, known).and_then(|()| self.has_room(host, worker.id))
        {
            return vec![failed(host, request, &failure)];
        }
        if worker.id == WORKER_ID_ANY {
            worker.id = self.generate();
        }
        let id = worker.id;
        let place = Some(self.hosts.entry(host).or_default().place());
        let waiting = Waiting { host, request, place };
        let Some(entry) = self.workers.get_mut(&id) else { return self.spawn(waiting, worker) };
        let serial = entry.serial;
        let actions = match &mut entry.state {
            State::Starting(others) => wait(others, id, waiting),
            State::Ready(_) => entry.promise(waiting, Some(worker), new_ticket),
        };
        self.comes_to(host, serial);
        actions
    }

    fn comes_to(&mut self, host: HostKey, serial: Serial) {
        if let Some(host) = self.hosts.get_mut(&host) {
            host.comes_to(serial, |known| self.ids.contains_key(&known));
        }
    }

    fn spawn(&mut self, waiting: Waiting, worker: StartWorker) -> Vec<Action> {
        let (id, host) = (worker.id, waiting.host);
        self.last_serial += 1;
        let serial = self.last_serial;
        let entry = Entry {
            serial,
            gid: worker.gid,
            plugins: worker.plugins,
            state: State::Starting(vec![waiting]),
            given_up: false,
            tickets: HashMap::new(),
        };
        self.workers.insert(id, entry);
        self.ids.insert(serial, id);
        self.comes_to(host, serial);
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
            // One that is about to go is waited for, and the worker that takes its place has what
            // was asked for.
            let is_followed = entry.given_up && matches!(entry.state, State::Ready(_));
            let name = WorkerId(id);
            if worker.env.is_some() && !is_followed {
                let text = format!(
                    "worker {name} runs already, so its environment cannot be set: start it without one"
                );
                return refuse(DocaError::ALREADY_EXIST, text);
            }
            if wanted & !entry.plugins != 0 {
                let has = entry.plugins;
                return refuse(
                    DocaError::INVALID_VALUE,
                    format!(
                        "worker {name} runs already with the plugins {has:#x}, which does not cover {wanted:#x}"
                    ),
                );
            }
        }
        Ok(())
    }

    fn has_room(&self, host: HostKey, id: u64) -> Result<(), Failure> {
        let full = |text: String| Err(Failure::new(DocaError::FULL, text));
        let Limits { workers, workers_per_host, .. } = self.limits;
        if self.hosts.get(&host).map_or(0, Host::count) >= workers_per_host {
            return full(format!(
                "this host has {} already, which is the daemon's limit: stop one, or start uromd \
                 with a larger --max-workers-per-host",
                Count(workers_per_host, "worker")
            ));
        }
        if !self.workers.contains_key(&id) && self.workers.len() >= workers {
            return full(format!(
                "the daemon has {} already, which is its limit: stop one, or start uromd with a larger \
                 --max-workers",
                Count(workers, "worker")
            ));
        }
        Ok(())
    }

    fn generate(&mut self) -> u64 {
        loop {
            self.last_generated = self.last_generated.wrapping_add(1);
            let WorkerId(id) = WorkerId::generated(self.last_generated);
            if !self.workers.contains_key(&id) {
                return id;
            }
        }
    }

    pub(crate) fn group(&self, gid: u32) -> Vec<u64> {
        let usable = |entry: &Entry| {
            entry.gid == gid && matches!(entry.state, State::Ready(_)) && !entry.given_up
        };
        self.workers.iter().filter(|(_, entry)| usable(entry)).map(|(id, _)| *id).collect()
    }

    /// A host's stream is over, or is about to be: it waits no more, and does not come. To be told
    /// twice changes nothing.
    pub(crate) fn host_gone(&mut self, host: HostKey) -> Vec<Action> {
        let mut actions = Vec::new();
        for serial in self.hosts.remove(&host).map(Host::into_workers).unwrap_or_default() {
            let Some((_, entry)) = self.find(serial) else { continue };
            if let State::Starting(waiting) = &mut entry.state {
                waiting.retain(|waiting| waiting.host != host);
            }
            let gone =
                entry.tickets.extract_if(|_, visitor| visitor.host == host && !visitor.there);
            let expected = gone.filter(|(_, visitor)| !visitor.late);
            actions.extend(expected.map(|(ticket, _)| {
                Action::ToWorker(entry.serial, DaemonToWorker::Forget { ticket })
            }));
        }
        actions
    }

    pub(crate) fn ready(
        &mut self,
        serial: Serial,
        address: SocketAddr,
        mut new_ticket: impl FnMut() -> Result<u128, Failure>,
    ) -> Vec<Action> {
        let Some((_, entry)) = self.find(serial) else { return Vec::new() };
        let State::Starting(waiting) = &mut entry.state else { return Vec::new() };
        let waiting = std::mem::take(waiting);
        entry.state = State::Ready(address);
        let promise = |waiting| entry.promise(waiting, None, &mut new_ticket);
        let mut actions: Vec<Action> = waiting.into_iter().flat_map(promise).collect();
        if entry.tickets.is_empty() {
            // All hosts that wanted it are gone, or got no ticket.
            actions.extend(self.dismiss(serial));
        }
        actions
    }

    pub(crate) fn expected(&mut self, serial: Serial, ticket: u128) -> Vec<Action> {
        let Some((id, entry)) = self.find(serial) else { return Vec::new() };
        let (State::Ready(address), Some(visitor)) = (&entry.state, entry.tickets.get_mut(&ticket))
        else {
            return Vec::new();
        };
        let Some(Pending { request, .. }) = visitor.pending.take() else { return Vec::new() };
        let address = *address;
        vec![Action::ToHost(visitor.host, DaemonToHost::Started { request, id, address, ticket })]
    }

    /// A worker cannot work, or did not get ready in time.
    pub(crate) fn failed(&mut self, serial: Serial, failure: &Failure) -> Vec<Action> {
        let mut actions = self.gone(serial, failure);
        actions.push(Action::Abandon(serial));
        actions
    }

    pub(crate) fn overdue(&mut self, serial: Serial, failure: &Failure) -> Vec<Action> {
        match self.find(serial) {
            Some((_, Entry { state: State::Starting(_), .. })) => self.failed(serial, failure),
            _ => Vec::new(),
        }
    }

    pub(crate) fn silent(&mut self, serial: Serial) {
        if let Some((_, entry)) = self.find(serial) {
            entry.given_up = true;
        }
    }

    pub(crate) fn arrived(&mut self, serial: Serial, ticket: u128) {
        // A host that was not told of its ticket cannot have come with it; its request waits for an
        // answer.
        let Some(entry) = self.ids.get(&serial).and_then(|id| self.workers.get_mut(id)) else {
            return;
        };
        if let Some(visitor) = entry.tickets.get_mut(&ticket)
            && visitor.pending.is_none()
        {
            visitor.there = true;
            if visitor.place.is_none() {
                // One that came late. A host that is gone asks for no more.
                visitor.place = self.hosts.get(&visitor.host).map(Host::place);
            }
        }
    }

    pub(crate) fn departed(&mut self, serial: Serial, ticket: u128) {
        // One that never came cannot leave.
        if let Some((_, entry)) = self.find(serial)
            && entry.tickets.get(&ticket).is_some_and(|visitor| visitor.there)
        {
            entry.tickets.remove(&ticket);
        }
    }

    pub(crate) fn expired(&mut self, serial: Serial, ticket: u128) -> Vec<Action> {
        let Some((id, entry)) = self.find(serial) else { return Vec::new() };
        let Some(visitor) = entry.tickets.get_mut(&ticket).filter(|visitor| !visitor.there) else {
            return Vec::new();
        };
        if visitor.late {
            // The worker would have said by now that it is there.
            entry.tickets.remove(&ticket);
            return Vec::new();
        }
        let forget = Action::ToWorker(serial, DaemonToWorker::Forget { ticket });
        let (host, pending) = (visitor.host, visitor.pending.take());
        let Some(Pending { request, .. }) = pending else {
            visitor.late = true;
            visitor.place = None;
            return vec![forget, Action::Expire(serial, ticket)];
        };
        entry.tickets.remove(&ticket);
        let text = format!(
            "worker {} does not answer the daemon: start one with another id",
            WorkerId(id)
        );
        vec![forget, failed(host, request, &Failure::new(DocaError::TIME_OUT, text))]
    }

    /// A worker's last host left: it ends, unless a host is on the way.
    pub(crate) fn empty(&mut self, serial: Serial) -> Vec<Action> {
        match self.find(serial) {
            // A worker that is not ready has had no host; those that wait for it want an answer.
            Some((_, Entry { state: State::Ready(_), tickets, .. }))
                if tickets.values().all(|visitor| visitor.there || visitor.late) =>
            {
                self.dismiss(serial)
            }
            _ => Vec::new(),
        }
    }

    pub(crate) fn stop(&mut self) -> Vec<Action> {
        self.stopping = true;
        let failure = Failure::new(DocaError::SHUTDOWN, "the daemon is shutting down");
        let serials: BTreeSet<Serial> = self.ids.keys().copied().collect();
        let mut actions = Vec::new();
        for serial in serials {
            actions.push(Action::ToWorker(serial, DaemonToWorker::Stop));
            actions.extend(self.gone(serial, &failure));
            actions.push(Action::Abandon(serial));
        }
        actions
    }

    fn find(&mut self, serial: Serial) -> Option<(u64, &mut Entry)> {
        let id = *self.ids.get(&serial)?;
        Some((id, self.workers.get_mut(&id)?))
    }

    fn dismiss(&mut self, serial: Serial) -> Vec<Action> {
        if let Some(id) = self.ids.remove(&serial) {
            self.workers.remove(&id);
        }
        vec![Action::ToWorker(serial, DaemonToWorker::Leave), Action::Abandon(serial)]
    }

    /// Forgets a worker. The hosts that wait for it are told; those that wanted to join it get
    /// another.
    pub(crate) fn gone(&mut self, serial: Serial, failure: &Failure) -> Vec<Action> {
        let Some(id) = self.ids.remove(&serial) else { return Vec::new() };
        let Some(Entry { state, tickets, .. }) = self.workers.remove(&id) else {
            return Vec::new();
        };
        if let State::Starting(waiting) = state {
            let told = |Waiting { host, request, .. }| failed(host, request, failure);
            return waiting.into_iter().map(told).collect();
        }
        let mut actions = Vec::new();
        let told = |Visitor { host, place, pending, .. }| {
            let Pending { request, again } = pending?;
            Some((Waiting { host, request, place }, again))
        };
        let mut pending: Vec<_> = tickets.into_values().filter_map(told).collect();
        // The first one starts the new worker. A host that gave an environment goes before others.
        pending.sort_by_key(|(_, again)| again.as_ref().is_none_or(|worker| worker.env.is_none()));
        for (waiting, again) in pending {
            match again {
                Some(worker) if !self.stopping => actions.extend(self.anew(waiting, worker)),
                _ => actions.push(failed(waiting.host, waiting.request, failure)),
            }
        }
        // One that is told may turn out to read nothing, and is forgotten then: what is started for
        // it comes before that.
        actions.sort_by_key(|action| !matches!(action, Action::Spawn { .. }));
        actions
    }

    /// Starts a worker in the place of one that is gone, or waits for it if it is being started.
    fn anew(&mut self, waiting: Waiting, worker: StartWorker) -> Vec<Action> {
        let host = waiting.host;
        if let Err(failure) = self.check(&worker, u64::MAX) {
            return vec![failed(host, waiting.request, &failure)];
        }
        match self.workers.get_mut(&worker.id) {
            Some(Entry { state: State::Starting(others), serial, .. }) => {
                let serial = *serial;
                let actions = wait(others, worker.id, waiting);
                self.comes_to(host, serial);
                actions
            }
            _ => self.spawn(waiting, worker),
        }
    }
}

fn wait(others: &mut Vec<Waiting>, id: u64, waiting: Waiting) -> Vec<Action> {
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

fn failed(host: HostKey, request: u64, failure: &Failure) -> Action {
    Action::ToHost(host, DaemonToHost::Failed { request, failure: failure.clone() })
}

#[cfg(test)]
#[path = "roster_tests.rs"]
mod tests;
