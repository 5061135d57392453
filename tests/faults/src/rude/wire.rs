//! A host's side of the private protocol to daemon and worker, with frames.

use std::net::SocketAddr;
use std::ops::Range;

use anyhow::{Context as _, Result, bail};
use faulty_protocol::{AskForLong, Echo, Sleep};
use ucx::{AmFlags, Endpoint, Request, Worker};
use urom_abi::protocol::Request as Encode;
use urom_wire::control::{
    Attach, DaemonToHost, HostToDaemon, HostToWorker, PluginEntry, StartWorker, WorkerToHost,
};
use urom_wire::envelope::{AM_COMMANDS, Envelope, VerificationTag};
use urom_wire::frame::{CommandStart, HEADER_LEN};
use urom_wire::hello::{Hello, Role};
use urom_wire::ring::{Ring, cells_of};
use urom_wire::ucx_context::may_share_memory;

use super::Manner;
use super::link::Link;
use super::way::{hand_ring, over_ucx};

pub(super) const MAX_IN_FLIGHT: u16 = 64;

/// The same for `Manner::StopsReading`. The answers of 144 bytes, with headers, are 7 MB: more than
/// the capacity of a ring, or of UCX's queues and the kernel's buffers.
const MANY_IN_FLIGHT: u16 = 48 * 1024;

const SLOW: u32 = 10_000;

fn encoded(command: &impl Encode) -> Result<Vec<u8>> {
    let mut bytes = vec![0; command.encoded_len().context("a command has a length")?];
    command.encode(&mut bytes)?;
    Ok(bytes)
}

pub(super) struct Ware {
    command: Vec<u8>,
    in_flight: u16,
}

impl Ware {
    pub(super) fn of(manner: Manner) -> Result<Ware> {
        let (command, in_flight) = match manner {
            Manner::Floods => (encoded(&Sleep { micros: SLOW })?, MAX_IN_FLIGHT),
            Manner::StopsReading => (encoded(&AskForLong)?, MANY_IN_FLIGHT),
            // The worker answers immediate commands before it takes the next.
            _ => (encoded(&Echo { data: 7 })?, MAX_IN_FLIGHT),
        };
        Ok(Ware { command, in_flight })
    }
}

pub(super) struct Daemon {
    link: Link<DaemonToHost, HostToDaemon>,
    plugins: Vec<PluginEntry>,
}

pub(super) struct Started {
    address: SocketAddr,
    token: u128,
    bit: u8,
    // The worker's last host ends it when this stream ends.
    _daemon: Link<DaemonToHost, HostToDaemon>,
}

impl Daemon {
    pub(super) fn connect(address: SocketAddr) -> Result<Daemon> {
        let link =
            Link::open(address, Hello::new(Role::Host), Role::Daemon, None, || HostToDaemon::Ping)?;
        match link.receive()? {
            DaemonToHost::Welcome { plugins, .. } => Ok(Daemon { link, plugins }),
            other => bail!("{other:?} instead of a welcome"),
        }
    }

    pub(super) fn start(self, id: u64) -> Result<Started> {
        let plugin = self.plugins.iter().find(|plugin| plugin.name == "worker_faulty");
        let plugin = plugin.context("the faulty plugin is missing")?;
        let worker = StartWorker { id, plugins: plugin.id, gid: 0, env: None, cpus: None };
        self.link.send(HostToDaemon::Start { request: 1, worker });
        loop {
            match self.link.receive()? {
                DaemonToHost::Ping => {}
                DaemonToHost::Started { address, token, .. } => {
                    let bit = plugin.id.trailing_zeros() as u8;
                    return Ok(Started { address, token, bit, _daemon: self.link });
                }
                other => bail!("{other:?} instead of a worker"),
            }
        }
    }
}

pub(super) struct Wire {
    pub(super) link: Link<WorkerToHost, HostToWorker>,
    way: Way,
    started: Started,
    ware: Ware,
}

enum Way {
    /// With the slots of unwritten commands, and the number of written parts of the first.
    Ring(Ring, Range<u16>, usize),
    Ucx(Ucx),
}

struct Ucx {
    // Drop order: an endpoint before its worker.
    endpoint: Endpoint,
    worker: Worker,
    channel: u16,
    sending: Option<Request<Vec<u8>>>,
}

impl Wire {
    pub(super) fn attach(started: Started, ware: Ware) -> Result<Wire> {
        let link = Link::open(started.address, Hello::new(Role::Host), Role::Worker, None, || {
            HostToWorker::Ping
        })?;
        link.send(HostToWorker::Attach(Attach {
            token: started.token,
            max_inflight: ware.in_flight.into(),
            max_message: 4096,
            program: "rude".to_owned(),
        }));
        let (socket, address, channel) = loop {
            match link.receive()? {
                WorkerToHost::Ping => {}
                WorkerToHost::Attached { socket, ucx_address, channel, .. } => {
                    break (socket, ucx_address, channel);
                }
                other => bail!("{other:?} instead of a welcome"),
            }
        };
        let way = match may_share_memory() {
            true => Way::Ring(hand_ring(started.token, socket).0, 0..0, 0),
            false => {
                // Answers are dropped.
                let (endpoint, worker) = over_ucx(&link, (&address, channel), |_| {});
                Way::Ucx(Ucx { endpoint, worker, channel, sending: None })
            }
        };
        Ok(Wire { link, way, started, ware })
    }

    pub(super) fn has_ring(&self) -> bool {
        matches!(self.way, Way::Ring(..))
    }

    pub(super) fn progress(&self) {
        match &self.way {
            Way::Ring(..) => std::thread::yield_now(),
            Way::Ucx(ucx) => drop(ucx.worker.progress()),
        }
    }

    pub(super) fn fill(&mut self) {
        let mut begin = 0;
        while begin < self.ware.in_flight {
            while self.is_hung() {
                self.progress();
            }
            let end = self.ware.in_flight.min(begin + MAX_IN_FLIGHT);
            self.send(begin..end);
            begin = end;
        }
    }

    /// Sends a command in each of these slots, over UCX in one message.
    pub(super) fn send(&mut self, slots: Range<u16>) {
        let command = &self.ware.command;
        match &mut self.way {
            Way::Ring(_, unsent, _) => {
                *unsent = slots;
                self.is_hung();
            }
            Way::Ucx(ucx) => {
                let len = Envelope::LEN + slots.len() * (HEADER_LEN + command.len());
                let mut message = Vec::with_capacity(len);
                let tag = VerificationTag::new(self.started.token);
                let envelope = Envelope { tag, channel: ucx.channel };
                message.extend_from_slice(&envelope.to_bytes());
                for slot in slots {
                    let header = CommandStart::new(slot, self.started.bit).header(command.len());
                    message.extend_from_slice(&header.word().to_le_bytes());
                    message.extend_from_slice(command);
                }
                let sent = ucx.endpoint.am_send_with(AM_COMMANDS, &[], message, AmFlags::EAGER);
                ucx.sending = Some(sent);
            }
        }
    }

    /// Whether the last commands still wait for space, which UCX finds by progress alone.
    pub(super) fn is_hung(&mut self) -> bool {
        let command = &self.ware.command;
        match &mut self.way {
            Way::Ring((_, writer), unsent, part) => {
                while unsent.start < unsent.end {
                    let start = CommandStart::new(unsent.start, self.started.bit);
                    *part = writer.write(start.header(command.len()), command, *part);
                    if *part < cells_of(command.len()) {
                        break;
                    }
                    (unsent.start, *part) = (unsent.start + 1, 0);
                }
                writer.announce();
                unsent.start < unsent.end
            }
            Way::Ucx(ucx) => match ucx.sending.take().map(Request::into_done) {
                Some(Err(request)) => {
                    ucx.sending = Some(request);
                    true
                }
                _ => false,
            },
        }
    }
}
