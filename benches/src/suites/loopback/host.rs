//! A host: connects to a worker twice, with the kit and with raw UCX, and does the rounds it is told.

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow};
use bench_protocol::{ADDRESS, Served};
use bench_raw::{Kind, Peer, STOP};
use graph_protocol::Client as Graph;
use serde::{Deserialize, Serialize};
use urom_host::{Completion, CpuSet, Host, Service, Worker, block_on};

use super::round::{self, Done, Side, Work};
use crate::cores::pin;

/// What a host is started with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::suites) struct Arguments {
    pub(in crate::suites) place: Place,
    /// Which host it is, from 0.
    pub(in crate::suites) number: usize,
    /// The worker to join; the first host starts one.
    pub(in crate::suites) worker: Option<u64>,
    /// How many commands may be in flight.
    pub(in crate::suites) in_flight: u64,
    /// The host's core, and the worker's.
    pub(in crate::suites) core: usize,
    pub(in crate::suites) worker_core: usize,
}

/// Where workers run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::suites) enum Place {
    Uromd { address: String },
    Embedded { plugins: PathBuf },
}

/// What a process is told.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(in crate::suites) enum Order {
    /// Says the worker's id.
    Join,
    /// Gives the worker's thread to raw UCX: for rounds of a side.
    Serve(Side),
    /// Takes it back.
    EndServe,
    /// A round, against a worker that is in the right hands.
    Round(Side, Work),
}

/// What it answers.
#[derive(Serialize)]
#[serde(untagged)]
pub(in crate::suites) enum Answer {
    Id(u64),
    Nothing(()),
    /// Of each of its hosts.
    Round(Vec<Done>),
}

pub(in crate::suites) struct Party {
    pub(in crate::suites) graph: Graph<Host>,
    peer: bench_protocol::Client<Host>,
    pub(in crate::suites) worker: Worker,
    pub(in crate::suites) raw: Peer,
    /// Connected when it is first asked for: most hosts never are.
    raw_same_settings: Option<Peer>,
    number: usize,
    /// With whose raw UCX the worker's is.
    serving: Option<(Side, Completion<bench_protocol::Serve>)>,
    // After everything that it serves.
    _service: Service,
}

impl Party {
    pub(in crate::suites) fn new(arguments: &Arguments) -> Result<Party> {
        let service = match &arguments.place {
            Place::Uromd { address } => Service::builder().address(address).connect()?,
            Place::Embedded { plugins } => {
                // Threads begin where the thread that makes them is: the service's all stay on the worker's core.
                pin(arguments.worker_core).context("cannot pin the service to its core")?;
                Service::builder().plugin_path(plugins).connect()?
            }
        };
        let graph = service.plugin::<graph_protocol::Protocol>()?;
        let peer = service.plugin::<bench_protocol::Protocol>()?;
        let mut builder = service.worker().plugin(graph.plugin()).plugin(peer.plugin());
        builder = match arguments.worker {
            Some(id) => builder.id(id),
            None => builder.any_id(),
        };
        if let Place::Uromd { .. } = arguments.place {
            let cpus: CpuSet = [arguments.worker_core].into_iter().collect();
            builder = builder.cpus(cpus);
        }
        let worker = block_on(builder.max_inflight(arguments.in_flight as u32).start())?;
        pin(arguments.core).context("cannot pin the host to its core")?;
        let raw = connect(&peer, &worker, arguments.number, Kind::default())?;
        let number = arguments.number;
        Ok(Party {
            graph,
            peer,
            worker,
            raw,
            raw_same_settings: None,
            number,
            serving: None,
            _service: service,
        })
    }

    pub(in crate::suites) fn obey(&mut self, order: Order) -> Result<Answer> {
        match order {
            Order::Join => Ok(Answer::Id(self.worker.id())),
            Order::Serve(side) => {
                let kind = Kind { same_settings: side == Side::RawSameSettings, ..Kind::default() };
                let style = side.style().number();
                if kind.same_settings && self.raw_same_settings.is_none() {
                    self.raw_same_settings =
                        Some(connect(&self.peer, &self.worker, self.number, kind)?);
                }
                self.serving = Some((
                    side,
                    self.peer.task_serve(&self.worker, kind.number(), style).submit()?,
                ));
                // From here on only raw UCX has its turn, and the command may still wait to leave.
                self.worker.engine().progress();
                Ok(Answer::Nothing(()))
            }
            Order::EndServe => {
                let (side, served) = self.serving.take().context("nobody serves")?;
                let raw = self.raw(side)?;
                raw.send(STOP);
                raw.progress();
                let Served {} = served.wait()?;
                Ok(Answer::Nothing(()))
            }
            Order::Round(side, work) => Ok(Answer::Round(vec![self.round(side, work)?])),
        }
    }

    fn raw(&self, side: Side) -> Result<&Peer> {
        match side {
            Side::RawSameSettings => self.raw_same_settings.as_ref().context("it was not served"),
            _ => Ok(&self.raw),
        }
    }

    pub(in crate::suites) fn round(&self, side: Side, work: Work) -> Result<Done> {
        match side {
            Side::Kit => round::kit(&self.graph, &self.worker, work),
            raw => round::raw(self.raw(raw)?, raw.style(), work),
        }
    }
}

/// Connects raw UCX of this process with raw UCX of the worker's.
pub(in crate::suites) fn connect(
    peer: &bench_protocol::Client<Host>,
    worker: &Worker,
    number: usize,
    kind: Kind,
) -> Result<Peer> {
    let mut raw = Peer::new(number, kind).map_err(|what| anyhow!(what))?;
    let theirs = peer.task_prepare(worker, 0, kind.number()).submit()?.wait()?;
    raw.connect(&theirs.address[..theirs.length as usize]).map_err(|what| anyhow!(what))?;
    let (address, length) = padded(&raw.address().map_err(|what| anyhow!(what))?)?;
    peer.task_connect(worker, address, length, kind.number()).submit()?.wait()?;
    Ok(raw)
}

/// An address as a command carries it.
pub(in crate::suites) fn padded(bytes: &[u8]) -> Result<([u8; ADDRESS], u64)> {
    let mut address = [0; ADDRESS];
    address.get_mut(..bytes.len()).context("a UCX address is too long")?.copy_from_slice(bytes);
    Ok((address, bytes.len() as u64))
}
