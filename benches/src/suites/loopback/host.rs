//! A host: connects to a worker twice, with the kit and with raw UCX, and measures rounds.

use std::path::PathBuf;

use anyhow::{Context, Result};
use bench_protocol::ADDRESS;
use bench_raw::{Kind, Peer, STOP};
use graph_protocol::Client as Graph;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json, to_value};
use urom_host::{Completion, CpuSet, Host, Service, Worker, block_on};

use super::round::{self, Done, Side, Work};
use crate::child;
use crate::cores::{Cores, pin};
use crate::launch::{DEPTH, Daemon, Launch};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::suites) struct Arguments {
    pub(super) place: Place,
    /// From 0.
    pub(super) number: usize,
    /// The worker to join; the first host starts one.
    pub(super) worker: Option<u64>,
    /// The commands that the worker allows in flight.
    pub(super) in_flight: u64,
    pub(super) cores: Cores,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::suites) enum Place {
    Uromd { address: String },
    Embedded { plugins: PathBuf },
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(in crate::suites) enum Order {
    /// Answered with the worker's id.
    Join,
    /// Gives the worker's thread to raw UCX, for rounds of a side.
    Serve(Side),
    /// Takes it back.
    EndServe,
    Round(Side, Work),
}

impl Arguments {
    /// Those of the first or only host.
    pub(in crate::suites) fn first(launch: &Launch, place: Place, in_flight: u64) -> Arguments {
        Arguments { place, number: 0, worker: None, in_flight, cores: launch.cores.clone() }
    }
}

pub(super) fn run(arguments: &str) -> Result<()> {
    let arguments: Arguments = serde_json::from_str(arguments).context("malformed arguments")?;
    let mut party = Party::new(&arguments)?;
    child::serve(|order| party.obey(order))
}

pub(in crate::suites) struct Party {
    pub(in crate::suites) graph: Graph<Host>,
    bench: bench_protocol::Client<Host>,
    pub(in crate::suites) worker: Worker,
    pub(in crate::suites) raw: Peer,
    /// Connected on its first use: most hosts never need it.
    raw_same_settings: Option<Peer>,
    number: usize,
    /// While raw UCX has the worker's thread.
    serving: Option<(Side, Completion<bench_protocol::Served>)>,
    // After everything that it serves.
    _service: Service,
}

impl Party {
    pub(in crate::suites) fn of(launch: &Launch, daemon: &Daemon) -> Result<Party> {
        let place = Place::Uromd { address: daemon.address().to_owned() };
        Party::new(&Arguments::first(launch, place, DEPTH))
    }

    fn new(arguments: &Arguments) -> Result<Party> {
        let Arguments { place, number, worker, in_flight, cores } = arguments;
        let service = match place {
            Place::Uromd { address } => Service::builder().address(address).connect()?,
            Place::Embedded { plugins } => {
                // New threads inherit the affinity: the service's stay on the worker's core.
                pin(cores.worker())?;
                Service::builder().plugin_path(plugins).connect()?
            }
        };
        let graph = service.plugin::<graph_protocol::Protocol>()?;
        let bench = service.plugin::<bench_protocol::Protocol>()?;
        let builder = service.worker().plugin(graph.plugin()).plugin(bench.plugin());
        let mut builder = match worker {
            Some(id) => builder.id(*id),
            None => builder.any_id(),
        };
        if let Place::Uromd { .. } = place {
            builder = builder.cpus([cores.worker()].into_iter().collect::<CpuSet>());
        }
        let worker = block_on(builder.max_inflight(*in_flight as u32).start())?;
        pin(cores.host(*number))?;
        let (raw, number) = (connect(&bench, &worker, *number, Kind::default())?, *number);
        let (raw_same_settings, serving) = (None, None);
        let _service = service;
        Ok(Party { graph, bench, worker, raw, raw_same_settings, number, serving, _service })
    }

    fn obey(&mut self, order: Order) -> Result<Value> {
        Ok(match order {
            Order::Join => json!(self.worker.id()),
            Order::Serve(side) => json!(self.serve(side)?),
            Order::EndServe => json!(self.end_serve()?),
            Order::Round(side, work) => to_value(self.round(side, work)?)?,
        })
    }

    pub(in crate::suites) fn serve(&mut self, side: Side) -> Result<()> {
        let kind = Kind { same_settings: side == Side::RawSameSettings, ..Kind::default() };
        if kind.same_settings && self.raw_same_settings.is_none() {
            self.raw_same_settings = Some(connect(&self.bench, &self.worker, self.number, kind)?);
        }
        let task = self.bench.task_serve(&self.worker, kind, side.style(), 0).submit()?;
        self.serving = Some((side, task));
        // The command may still wait to leave.
        self.worker.engine().progress();
        Ok(())
    }

    pub(in crate::suites) fn end_serve(&mut self) -> Result<()> {
        let (side, served) = self.serving.take().context("raw UCX does not serve")?;
        let raw = self.raw(side)?;
        raw.send(STOP);
        raw.progress();
        served.wait()?;
        Ok(())
    }

    fn raw(&self, side: Side) -> Result<&Peer> {
        match side {
            Side::RawSameSettings => self.raw_same_settings.as_ref().context("it was not served"),
            _ => Ok(&self.raw),
        }
    }

    /// A round. Of raw UCX, while it has the worker's thread.
    fn round(&self, side: Side, work: Work) -> Result<Done> {
        match side {
            Side::Kit => round::kit(&self.graph, &self.worker, work),
            raw => round::raw(self.raw(raw)?, raw.style(), work),
        }
    }

    /// A round; raw UCX gets the worker's thread for it.
    pub(in crate::suites) fn whole_round(&mut self, side: Side, work: Work) -> Result<Done> {
        if side == Side::Kit {
            return self.round(side, work);
        }
        self.serve(side)?;
        let done = self.round(side, work)?;
        self.end_serve()?;
        Ok(done)
    }
}

/// Connects raw UCX of this process with that of the worker.
pub(in crate::suites) fn connect(
    bench: &bench_protocol::Client<Host>,
    worker: &Worker,
    number: usize,
    kind: Kind,
) -> Result<Peer> {
    let mut raw = Peer::new(number, kind)?;
    raw.connect(&prepare(bench, worker, 0, kind)?)?;
    introduce(bench, worker, &raw.address()?, kind)?;
    Ok(raw)
}

/// Starts raw UCX in a worker. Returns its address.
pub(in crate::suites) fn prepare(
    bench: &bench_protocol::Client<Host>,
    worker: &Worker,
    number: u64,
    kind: Kind,
) -> Result<Vec<u8>> {
    let theirs = bench.task_prepare(worker, number, kind).submit()?.wait()?;
    Ok(theirs.address[..theirs.length as usize].to_vec())
}

/// Connects raw UCX of a worker to an address.
pub(in crate::suites) fn introduce(
    bench: &bench_protocol::Client<Host>,
    worker: &Worker,
    bytes: &[u8],
    kind: Kind,
) -> Result<()> {
    let mut address = [0; ADDRESS];
    address.get_mut(..bytes.len()).context("a UCX address is too long")?.copy_from_slice(bytes);
    let length = bytes.len() as u64;
    bench.task_connect(worker, address, length, kind).submit()?.wait()?;
    Ok(())
}
