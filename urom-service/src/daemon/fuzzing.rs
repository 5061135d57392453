//! Fuzz target for the daemon's control streams: messages of hosts and workers.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::LazyLock;

use urom_wire::control::{
    DaemonToHost, DaemonToWorker, Failure, HostToDaemon, PluginBuild, PluginEntry, WorkerToDaemon,
};
use urom_wire::fuzzing::memory::within;
use urom_wire::fuzzing::program::Program;

use super::args::{DaemonArgs, DaemonLimits};
use super::config::DaemonConfig;
use super::discovery::FoundPlugin;
use super::registry::{DaemonAction, HostKey, Registry, Serial};
use super::request;
use urom_abi::cpu::CpuSet;
use urom_abi::{DocaError, WorkerId};

const HOSTS: u8 = 4;

const PLUGINS: [u64; 2] = [1, 2];

const LISTEN: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Memory budget for a worker and a request, with their messages and actions.
const MEMORY: usize = 64 << 10;

static CONFIG: LazyLock<DaemonConfig> =
    LazyLock::new(|| DaemonConfig::new(DaemonArgs::default(), CpuSet::empty()));

/// Runs a program of host and worker events; messages are arbitrary bytes. Each request gets one
/// answer, if its host waits. A group lists only its own workers. Each started process is released.
pub fn daemon(input: &[u8]) {
    LazyLock::force(&CONFIG);
    let mut daemon = Daemon {
        registry: Registry::new(DaemonLimits::default(), numbers()),
        open: HashMap::new(),
        asked: None,
        running: HashMap::new(),
        plugins: PLUGINS.map(found),
        last: 0,
    };
    within(MEMORY + 256 * input.len(), || {
        let mut program = Program::new(input);
        while let Some(step) = program.byte() {
            daemon.step(step, &mut program);
        }
        let actions = daemon.registry.stop();
        daemon.act(actions);
        daemon.end();
    });
}

#[derive(Debug)]
struct FuzzedProcess {
    id: u64,
    gid: u32,
    ready: bool,
    tokens: Vec<u128>,
}

struct Daemon {
    registry: Registry,
    open: HashMap<(HostKey, u64), usize>,
    /// An unanswered group request: host, request, group.
    asked: Option<(HostKey, u64, u32)>,
    running: HashMap<Serial, FuzzedProcess>,
    plugins: [FoundPlugin; 2],
    last: Serial,
}

impl Daemon {
    fn step(&mut self, step: u8, program: &mut Program<'_>) {
        let host = HostKey::from(step / 8 % HOSTS);
        let serial = Serial::from(step / 8 % 8) + self.last.saturating_sub(7);
        match step % 8 {
            0..=2 => self.on_host_message(host, program.bytes()),
            3 | 4 => self.on_worker_message(serial, program.bytes()),
            5 => {
                self.open.retain(|(of, _), _| *of != host);
                let actions = self.registry.host_gone(host);
                self.act(actions);
            }
            6 => {
                self.running.remove(&serial);
                let actions = self.registry.gone(serial, &failure());
                self.act(actions);
            }
            _ => {
                let token = u128::from(program.small());
                let actions = match token {
                    0 => self.registry.overdue(serial, &failure()),
                    _ => self.registry.expired(serial, token),
                };
                self.act(actions);
            }
        }
    }

    fn on_host_message(&mut self, host: HostKey, bytes: &[u8]) {
        // Without the length prefix; see `control_messages`.
        let Ok(message) = postcard::from_bytes(bytes) else { return };
        match &message {
            HostToDaemon::Ping | HostToDaemon::Describe { .. } => {}
            HostToDaemon::Start { request, .. } => {
                *self.open.entry((host, *request)).or_default() += 1
            }
            HostToDaemon::Group { request, gid } => self.asked = Some((host, *request, *gid)),
        }
        let actions = self.registry.on_host_message(host, Some(&self.plugins), message);
        self.act(actions);
        assert_eq!(self.asked, None, "a group is answered at once");
    }

    fn on_worker_message(&mut self, serial: Serial, bytes: &[u8]) {
        let Ok(message) = postcard::from_bytes(bytes) else { return };
        if let (WorkerToDaemon::Ready { .. }, Some(process)) =
            (&message, self.running.get_mut(&serial))
        {
            process.ready = true;
        }
        let actions = self.registry.on_worker_message(serial, LISTEN, message);
        self.act(actions);
    }

    fn act(&mut self, actions: Vec<DaemonAction>) {
        for action in actions {
            match action {
                DaemonAction::Spawn { serial, id, worker, .. } => {
                    if let Err(failure) =
                        request::resolve(WorkerId(id), &worker, &self.plugins, &CONFIG, LISTEN)
                    {
                        let actions = self.registry.failed(serial, &failure);
                        self.act(actions);
                    } else {
                        let process =
                            FuzzedProcess { id, gid: worker.gid, ready: false, tokens: Vec::new() };
                        assert!(
                            self.running.insert(serial, process).is_none(),
                            "a serial is given once"
                        );
                        self.last = self.last.max(serial);
                    }
                }
                DaemonAction::ToWorker(serial, DaemonToWorker::Expect { token }) => {
                    let process = self.running.get_mut(&serial);
                    process.expect("a worker with a host runs").tokens.push(token);
                }
                DaemonAction::ToWorker(..) | DaemonAction::Expire(..) => {}
                DaemonAction::Abandon(serial) => drop(self.running.remove(&serial)),
                DaemonAction::ToHost(host, DaemonToHost::Started { request, token, .. }) => {
                    assert!(
                        self.running.values().any(|process| process.tokens.contains(&token)),
                        "a worker has the token of its host"
                    );
                    self.answered(host, request);
                }
                DaemonAction::ToHost(host, DaemonToHost::Failed { request, .. }) => {
                    self.answered(host, request);
                }
                DaemonAction::ToHost(host, DaemonToHost::Group { request, ids }) => {
                    let (of, number, gid) = self.asked.take().expect("a group that was asked for");
                    assert_eq!((host, request), (of, number), "whoever asked is answered");
                    assert!(ids.is_sorted_by(|a, b| a < b), "an id is one worker's: {ids:?}");
                    let runs = |id| {
                        self.running.values().any(|of| of.ready && (of.id, of.gid) == (id, gid))
                    };
                    assert!(
                        ids.into_iter().all(runs),
                        "a worker of group {gid} that can be joined"
                    );
                }
                DaemonAction::ToHost(_, other) => panic!("that was not requested: {other:?}"),
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

pub(super) fn numbers() -> impl FnMut() -> Result<u128, Failure> {
    let mut numbers = 1..;
    move || numbers.next().ok_or_else(failure)
}

fn failure() -> Failure {
    Failure::new(DocaError::CONNECTION_RESET, "lost")
}

pub(super) fn found(id: u64) -> FoundPlugin {
    let name = format!("plugin{id}");
    FoundPlugin {
        file: format!("/p/{name}.so").into(),
        entry: PluginEntry { id, build: PluginBuild { version: 1, fingerprint: None }, name },
        description: None,
        protocol: None,
    }
}
