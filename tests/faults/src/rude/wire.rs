//! The private protocol as a host speaks it: to the daemon, then to a worker, and commands as frames.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use faulty_protocol::{Echo, Sleep};
use ucx::{AmFlags, Endpoint, Request, Worker, WorkerAddress};
use urom_abi::protocol::Request as Encode;
use urom_service::wire::context::context;
use urom_service::wire::control::{
    Attach, DaemonToHost, HostToDaemon, HostToWorker, PluginEntry, StartWorker, WorkerToHost,
};
use urom_service::wire::frame::{self, AM_COMMANDS, AM_GREET, AM_NOTIFICATIONS};
use urom_service::wire::hello::Role;

use super::link::Link;

/// How many tasks a rude host asks to have in flight.
pub(super) const MAX_IN_FLIGHT: u16 = 64;

/// What a rude host is called in its frames.
const CHANNEL: u16 = 0x4711;

/// How long a worker may take to show that UCX carries.
const PATIENCE: Duration = Duration::from_secs(30);

/// For how many microseconds a slow command is in flight.
const SLOW: u32 = 10_000;

fn encoded(command: &impl Encode) -> Result<Vec<u8>> {
    let mut bytes = vec![0; command.encoded_len().context("a command has a length")?];
    command.encode(&mut bytes)?;
    Ok(bytes)
}

/// Every slot that it may use.
pub(super) fn all_slots() -> Vec<u16> {
    (0..MAX_IN_FLIGHT).collect()
}

/// A host's stream to the daemon.
pub(super) struct Daemon {
    link: Link<DaemonToHost, HostToDaemon>,
    plugins: Vec<PluginEntry>,
}

/// Where a worker is, and which bit its plugin has.
pub(super) struct Started {
    address: SocketAddr,
    ticket: u128,
    bit: u8,
    // The worker's last host ends it when this stream ends.
    _daemon: Link<DaemonToHost, HostToDaemon>,
}

impl Daemon {
    pub(super) fn connect(address: SocketAddr) -> Result<Daemon> {
        let link = Link::open(address, Role::Daemon, || HostToDaemon::Ping)?;
        match link.receive()? {
            DaemonToHost::Welcome { plugins, .. } => Ok(Daemon { link, plugins }),
            other => bail!("{other:?} in place of a welcome"),
        }
    }

    /// Starts or joins a worker.
    pub(super) fn start(self, id: u64) -> Result<Started> {
        let plugin = self.plugins.iter().find(|plugin| plugin.name == "worker_faulty");
        let plugin = plugin.context("there is no faulty plugin")?;
        let worker = StartWorker { id, plugins: plugin.id, gid: 0, env: None, cpus: None };
        self.link.send(HostToDaemon::Start { request: 1, worker });
        loop {
            match self.link.receive()? {
                DaemonToHost::Ping => {}
                DaemonToHost::Started { address, ticket, .. } => {
                    let bit = plugin.id.trailing_zeros() as u8;
                    return Ok(Started { address, ticket, bit, _daemon: self.link });
                }
                other => bail!("{other:?} in place of a worker"),
            }
        }
    }
}

/// A connection to a worker.
pub(super) struct Wire {
    pub(super) link: Link<WorkerToHost, HostToWorker>,
    // In this order: an endpoint goes before its worker.
    endpoint: Endpoint,
    worker: Worker,
    started: Started,
    channel: u16,
    /// The command that it sends again and again.
    command: Vec<u8>,
    /// The last message that was sent.
    sending: Option<Request<Vec<u8>>>,
}

impl Wire {
    /// Is let in. Its commands are answered at once, or are `slow`.
    pub(super) fn attach(started: Started, slow: bool) -> Result<Wire> {
        let link = Link::open(started.address, Role::Worker, || HostToWorker::Ping)?;
        let worker = context().build()?.worker()?;
        // What comes is thrown away.
        worker.set_am_handler(AM_NOTIFICATIONS, |_| {})?;
        let greeted = Rc::new(Cell::new(false));
        let seen = Rc::clone(&greeted);
        worker.set_am_handler(AM_GREET, move |_| seen.set(true))?;
        link.send(HostToWorker::Attach(Attach {
            ticket: started.ticket,
            ucx_address: worker.address()?.as_bytes().to_vec(),
            channel: CHANNEL,
            max_inflight: MAX_IN_FLIGHT.into(),
            max_message: 4096,
        }));
        let (address, channel) = loop {
            match link.receive()? {
                WorkerToHost::Ping => {}
                WorkerToHost::Attached { ucx_address, channel, .. } => break (ucx_address, channel),
                other => bail!("{other:?} in place of being let in"),
            }
        };
        let address = WorkerAddress::from_bytes(&address).map_err(|error| anyhow!("{error}"))?;
        let endpoint = worker.endpoint().connect(&address)?;
        endpoint.am_send_with(AM_GREET, &channel.to_le_bytes(), (), AmFlags::EAGER).detach();
        // The worker answers what ends at once before it takes the next.
        let command = if slow { encoded(&Sleep { micros: SLOW })? } else { encoded(&Echo { data: 7 })? };
        let wire = Wire { link, endpoint, worker, started, channel, command, sending: None };
        let begin = Instant::now();
        while !greeted.get() {
            ensure!(begin.elapsed() < PATIENCE, "no greeting came over UCX");
            wire.progress();
        }
        Ok(wire)
    }

    pub(super) fn progress(&self) {
        self.worker.progress();
    }

    /// Sends one message with a command in each of these slots.
    pub(super) fn send(&mut self, slots: &[u16]) {
        let mut message = Vec::with_capacity(slots.len() * (frame::HEADER_LEN + self.command.len()));
        for slot in slots {
            let header = frame::command_header(self.channel, *slot, self.started.bit, self.command.len());
            message.extend_from_slice(&header);
            message.extend_from_slice(&self.command);
        }
        self.sending = Some(self.endpoint.am_send_with(AM_COMMANDS, &[], message, AmFlags::EAGER));
    }

    /// Whether UCX waits for room for the last message, which nothing but progress finds.
    pub(super) fn is_stuck(&mut self) -> bool {
        match self.sending.take().map(Request::into_done) {
            Some(Err(request)) => {
                self.sending = Some(request);
                true
            }
            _ => false,
        }
    }
}
