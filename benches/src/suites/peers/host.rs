//! The processes of this suite: the host, which has a connection of the kit's and one to each peer, and the servers. Bare threads
//! need none: the other one is the host's, on the worker's core.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use bench_peers::{tonic_echo, unix_echo};
use graph_protocol::Client as Graph;
use rustix::event::{PollFd, PollFlags, poll};
use serde::{Deserialize, Serialize};
use urom_host::{CpuSet, Host, Service, Worker, block_on};

use super::server::Plan;
use crate::child;
use crate::cores::pin;
use crate::suites::sleeper::Sleeper;
use crate::transport::Transport;

/// Longer than a worker polls after its last work, so that it sleeps when the next command comes.
const PAUSE: Duration = Duration::from_micros(500);

/// Whose round it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Side {
    Kit,
    Tonic,
    UnixSocket,
    /// Two threads and nothing else, which can only be asleep.
    Threads,
}

impl Side {
    /// As figures' names have it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Side::Kit => "kit",
            Side::Tonic => "tonic",
            Side::UnixSocket => "unix-socket",
            Side::Threads => "threads",
        }
    }

    /// As a reader is told.
    pub(super) fn about(self) -> &'static str {
        match self {
            Side::Kit => "kit",
            Side::Tonic => "tonic unary call over TCP",
            Side::UnixSocket => "tokio Unix-socket echo",
            Side::Threads => "two threads that wake each other",
        }
    }
}

/// What a process of this suite is.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Role {
    Server(Plan),
    Host(Arguments),
}

/// What the host is started with.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Arguments {
    pub(super) daemon: String,
    pub(super) transport: Transport,
    pub(super) tonic: String,
    pub(super) unix_socket: String,
    pub(super) core: usize,
    pub(super) worker_core: usize,
}

/// A round.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) side: Side,
    pub(super) trips: u64,
    /// Both ends sleep before each.
    pub(super) asleep: bool,
}

/// What came of it, in nanoseconds.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Done {
    /// For a trip, pauses apart.
    pub(super) each: f64,
    /// For everything.
    pub(super) elapsed: u64,
}

/// A process from beginning to end.
pub(super) fn run(arguments: &str) -> Result<()> {
    match serde_json::from_str(arguments).context("what a process is started with")? {
        Role::Server(plan) => serve(&plan),
        Role::Host(arguments) => {
            let mut party = Party::new(&arguments)?;
            child::serve(|order| party.obey(&order))
        }
    }
}

fn serve(plan: &Plan) -> Result<()> {
    pin(plan.core).context("cannot pin the server to its core")?;
    // The one line that the bench waits for; nobody is left to read when it cannot be written.
    let say = |address: &str| println!("{}", serde_json::Value::from(address));
    match plan.side {
        Side::Tonic => tonic_echo::serve(|address| say(&address.to_string())),
        Side::UnixSocket => unix_echo::serve(Path::new(&plan.path), || say(&plan.path)),
        Side::Kit => bail!("the kit's server is uromd"),
        Side::Threads => bail!("the other thread is the host's"),
    }
}

struct Party {
    graph: Graph<Host>,
    worker: Worker,
    tonic: tonic_echo::Client,
    unix_socket: unix_echo::Client,
    sleeper: Sleeper,
    // After everything that it serves.
    _service: Service,
}

impl Party {
    fn new(arguments: &Arguments) -> Result<Party> {
        let service = Service::builder().address(&arguments.daemon).connect()?;
        let graph = service.plugin::<graph_protocol::Protocol>()?;
        let cpus: CpuSet = [arguments.worker_core].into_iter().collect();
        let worker = block_on(service.worker().any_id().plugin(graph.plugin()).cpus(cpus).start())?;
        let sleeper = Sleeper::start(arguments.transport, arguments.worker_core)?;
        pin(arguments.core).context("cannot pin the host to its core")?;
        let tonic = tonic_echo::Client::at(arguments.tonic.parse()?)?;
        let unix_socket = unix_echo::Client::at(Path::new(&arguments.unix_socket))?;
        Ok(Party { graph, worker, tonic, unix_socket, sleeper, _service: service })
    }

    fn obey(&mut self, order: &Order) -> Result<Done> {
        let begin = Instant::now();
        let timed = if order.asleep {
            let mut timed = Duration::ZERO;
            for _ in 0..order.trips {
                std::thread::sleep(PAUSE);
                let begin = Instant::now();
                match order.side {
                    Side::Kit => self.kit_asleep()?,
                    Side::Tonic => self.tonic.round_trips(1, || {})?,
                    Side::UnixSocket => self.unix_socket.round_trips(1, || {})?,
                    Side::Threads => self.sleeper.wake()?,
                }
                timed += begin.elapsed();
            }
            timed
        } else {
            match order.side {
                Side::Kit => {
                    for data in 0..order.trips {
                        let done = self.graph.task_loopback(&self.worker, data).submit()?.wait()?;
                        ensure!(done.data == data, "sent {data}, got {}", done.data);
                    }
                }
                Side::Tonic => self.tonic.round_trips(order.trips, || {})?,
                Side::UnixSocket => self.unix_socket.round_trips(order.trips, || {})?,
                Side::Threads => bail!("bare threads sleep between messages"),
            }
            begin.elapsed()
        };
        let elapsed = begin.elapsed().as_nanos() as u64;
        Ok(Done { each: timed.as_nanos() as f64 / order.trips as f64, elapsed })
    }

    /// A round trip that never polls twice in a row: nothing to do means to sleep until the engine has news.
    fn kit_asleep(&self) -> Result<()> {
        const DATA: u64 = 7;
        let engine = self.worker.engine();
        let task = self.graph.task_loopback(&self.worker, DATA).submit()?;
        loop {
            while engine.progress() {}
            if task.is_complete() {
                break;
            }
            engine.request_notification()?;
            let mut fds = [PollFd::new(engine, PollFlags::IN)];
            poll(&mut fds, None)?;
            engine.clear_notification()?;
        }
        let done = task.wait()?;
        ensure!(done.data == DATA, "sent {DATA}, got {}", done.data);
        Ok(())
    }
}
