//! The daemon's side of its control streams: what hosts and workers say, and what becomes of it.

use std::collections::HashMap;

use super::config::DaemonConfig;
use super::discovery::Found;
use super::request;
use super::roster::{Action, HostKey, Roster, Serial};
use crate::fuzzing::memory::within;
use crate::fuzzing::program::Program;
use crate::wire::control::{
    DaemonToHost, DaemonToWorker, Failure, HostToDaemon, PluginEntry, WorkerToDaemon,
};
use urom_abi::DocaError;

const HOSTS: u8 = 4;

/// The plugins that hosts are told of.
const PLUGINS: [u64; 2] = [1, 2];

/// What the roster keeps for a worker and a request, with the messages and actions that go with them.
const MEMORY: usize = 64 << 10;

/// A program of what hosts and workers do, their words being bytes as they come. Each request has one answer, if its host
/// waits for it, and no other host gets that; each process that is started is let go.
pub fn daemon(input: &[u8]) {
    let mut daemon = Daemon::default();
    within(MEMORY + 256 * input.len(), || {
        let mut program = Program::new(input);
        while let Some(step) = program.byte() {
            daemon.step(step, &mut program);
        }
        let actions = daemon.roster.stop();
        daemon.act(actions);
        daemon.end();
    });
}

#[derive(Default)]
struct Daemon {
    roster: Roster,
    tickets: u128,
    /// How many answers each request of a host still gets.
    open: HashMap<(HostKey, u64), usize>,
    /// The processes that run, by their serials, and the tickets that each was told.
    running: HashMap<Serial, Vec<u128>>,
    last: Serial,
}

impl Daemon {
    fn step(&mut self, step: u8, program: &mut Program<'_>) {
        let host = HostKey::from(step / 8 % HOSTS);
        let serial = Serial::from(step / 8 % 8) + self.last.saturating_sub(7);
        match step % 8 {
            0..=2 => self.host_says(host, program.bytes()),
            3 | 4 => self.worker_says(serial, program.bytes()),
            5 => {
                self.open.retain(|(of, _), _| *of != host);
                let actions = self.roster.host_gone(host);
                self.act(actions);
            }
            6 => {
                self.running.remove(&serial);
                let actions = self.roster.gone(serial, &failure());
                self.act(actions);
            }
            _ => {
                let ticket = u128::from(program.small());
                let actions = match ticket {
                    0 => self.roster.overdue(serial, &failure()),
                    _ => self.roster.expired(serial, ticket),
                };
                self.act(actions);
            }
        }
    }

    fn host_says(&mut self, host: HostKey, bytes: &[u8]) {
        // Without the four bytes of its length, about which `control_messages` is.
        if let Ok(message) = postcard::from_bytes(bytes) {
            let actions = match message {
                HostToDaemon::Ping => Vec::new(),
                HostToDaemon::Start { request, worker } => {
                    *self.open.entry((host, request)).or_default() += 1;
                    let tickets = &mut self.tickets;
                    let known = PLUGINS.iter().sum();
                    self.roster.start(host, request, worker, known, || draw(tickets))
                }
                HostToDaemon::Group { gid, .. } => {
                    assert!(self.roster.group(gid).is_sorted_by(|a, b| a < b));
                    Vec::new()
                }
            };
            self.act(actions);
        }
    }

    fn worker_says(&mut self, serial: Serial, bytes: &[u8]) {
        if let Ok(message) = postcard::from_bytes(bytes) {
            let tickets = &mut self.tickets;
            let actions = match message {
                WorkerToDaemon::Ping => Vec::new(),
                WorkerToDaemon::Ready { port } => {
                    self.roster.ready(serial, ([127, 0, 0, 1], port).into(), || draw(tickets))
                }
                WorkerToDaemon::Failed(failure) => self.roster.failed(serial, &failure),
                WorkerToDaemon::Expected { ticket } => self.roster.expected(serial, ticket),
                WorkerToDaemon::Arrived { ticket } => {
                    self.roster.arrived(serial, ticket);
                    Vec::new()
                }
                WorkerToDaemon::Departed { ticket } => {
                    self.roster.departed(serial, ticket);
                    Vec::new()
                }
                WorkerToDaemon::Empty => self.roster.empty(serial),
            };
            self.act(actions);
        }
    }

    fn act(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Spawn { serial, id, worker, .. } => {
                    let known = PLUGINS.map(found);
                    let listen = [127, 0, 0, 1].into();
                    let (config, daemon) = (worker.clone(), DaemonConfig::default());
                    if let Err(failure) = request::resolve(id, &config, &known, &daemon, listen) {
                        let actions = self.roster.failed(serial, &failure);
                        self.act(actions);
                    } else {
                        assert!(self.running.insert(serial, Vec::new()).is_none(), "a serial is given once");
                        self.last = self.last.max(serial);
                    }
                }
                Action::ToWorker(serial, DaemonToWorker::Expect { ticket }) => {
                    let tickets = self.running.get_mut(&serial);
                    tickets.expect("a worker that is told of a host runs").push(ticket);
                }
                Action::ToWorker(..) | Action::Expire(..) => {}
                Action::Abandon(serial) => drop(self.running.remove(&serial)),
                Action::ToHost(host, DaemonToHost::Started { request, ticket, .. }) => {
                    assert!(
                        self.running.values().any(|tickets| tickets.contains(&ticket)),
                        "a worker knows the ticket of its host"
                    );
                    self.answered(host, request);
                }
                Action::ToHost(host, DaemonToHost::Failed { request, failure }) => {
                    assert_ne!(failure.code, 0, "a failure has a code: {}", failure.text);
                    self.answered(host, request);
                }
                Action::ToHost(_, other) => panic!("no answer to a start: {other:?}"),
            }
        }
    }

    fn answered(&mut self, host: HostKey, request: u64) {
        let left = self.open.get_mut(&(host, request)).filter(|left| **left > 0);
        *left.expect("an answer to a request that waits for it") -= 1;
    }

    fn end(&self) {
        assert!(
            self.open.values().all(|left| *left == 0),
            "a request was left without an answer: {:?}",
            self.open
        );
        assert!(self.running.is_empty(), "processes are left: {:?}", self.running);
    }
}

fn draw(tickets: &mut u128) -> Result<u128, Failure> {
    *tickets += 1;
    Ok(*tickets)
}

fn failure() -> Failure {
    Failure::new(DocaError::CONNECTION_RESET, "lost")
}

fn found(id: u64) -> Found {
    let name = format!("plugin{id}");
    Found { file: format!("/p/{name}.so").into(), entry: PluginEntry { id, version: 1, name } }
}
