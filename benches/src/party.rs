//! A host of a worker, connected twice: with the kit and with raw UCX.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use bench_protocol::ADDRESS;
use bench_raw::{Kind, Peer, STOP, Style};
use rustix::process::Pid;
use serde::{Deserialize, Serialize};
use urom_host::{Completion, CpuSet, Host, Service, Worker, block_on};

use crate::cores::{Cores, pin};
use crate::launch::{DEPTH, Daemon, Launch};
use crate::processes;

pub(crate) const PLUGINS: [&str; 2] = ["worker_graph", "worker_benchpeer"];

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct HostArguments {
    pub(crate) place: Server,
    pub(crate) number: usize,
    /// The worker to join; the first host starts it.
    pub(crate) worker: Option<u64>,
    pub(crate) in_flight: u64,
    pub(crate) cores: Cores,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Server {
    Uromd { address: String },
    Embedded { plugins: PathBuf },
}

pub(crate) type RawClient = bench_protocol::Client<Host>;
type Serving = Completion<bench_protocol::Served>;

pub(crate) struct Party {
    pub(crate) graph: graph_protocol::Client<Host>,
    bench: RawClient,
    pub(crate) worker: Worker,
    pub(crate) raw: Peer,
    serving: Option<Serving>,
    // Dropped after its users.
    _service: Service,
    daemon: Option<Daemon>,
}

impl Party {
    /// Starts the only host of a daemon's worker, with raw UCX of a kind.
    pub(crate) fn of(launch: &Launch, daemon: Daemon, kind: Kind) -> Result<Party> {
        let server = Server::Uromd { address: daemon.address().to_owned() };
        let (worker, in_flight, cores) = (None, DEPTH, launch.cores.clone());
        let arguments = HostArguments { place: server, number: 0, worker, in_flight, cores };
        Ok(Party { daemon: Some(daemon), ..Party::new(&arguments, kind)? })
    }

    pub(crate) fn start(launch: &Launch) -> Result<Party> {
        Party::of(launch, launch.daemon(&PLUGINS)?, Kind::Awake)
    }

    pub(crate) fn new(arguments: &HostArguments, kind: Kind) -> Result<Party> {
        let HostArguments { place: server, number, worker, in_flight, cores } = arguments;
        let service = match server {
            Server::Uromd { address } => Service::builder().address(address).connect_blocking()?,
            Server::Embedded { plugins } => {
                // New threads inherit the affinity, so the service's threads stay on the worker's
                // core.
                pin(cores.worker())?;
                Service::builder().plugin_paths([plugins]).connect_blocking()?
            }
        };
        let graph = service.plugin::<graph_protocol::Protocol>()?;
        let bench = service.plugin::<bench_protocol::Protocol>()?;
        let builder = service.worker().plugin(graph.plugin()).plugin(bench.plugin());
        let mut builder = match worker {
            Some(id) => builder.id(*id),
            None => builder,
        };
        if let Server::Uromd { .. } = server {
            builder = builder.cpus([cores.worker()].into_iter().collect::<CpuSet>());
        }
        let worker = block_on(builder.max_inflight(*in_flight as u32).start())?;
        pin(cores.host(*number))?;
        let mut raw = Peer::new(*number, kind)?;
        raw.connect(&prepare(&bench, &worker, 0, kind)?)?;
        introduce(&bench, &worker, &raw.address()?, kind)?;
        Ok(Party { graph, bench, worker, raw, serving: None, _service: service, daemon: None })
    }

    pub(crate) fn worker_process(&self) -> Result<Pid> {
        processes::only_child(self.daemon.as_ref().context("another host has the daemon")?.pid())
    }

    pub(crate) fn serve(&mut self, style: Style) -> Result<()> {
        self.serving = Some(serve(&self.bench, &self.worker, self.raw.kind(), style, 0)?);
        Ok(())
    }

    pub(crate) fn end_serve(&mut self) -> Result<()> {
        self.raw.send(STOP);
        self.raw.progress();
        self.serving.take().context("raw UCX does not serve")?.wait()?;
        Ok(())
    }

    pub(crate) fn loopback(&self, data: u64) -> Result<()> {
        answered(data, self.graph.task_loopback(&self.worker, data).submit()?)
    }
}

#[inline]
pub(crate) fn answered(sent: u64, task: Completion<graph_protocol::LoopbackDone>) -> Result<()> {
    let got = task.wait()?.data;
    ensure!(got == sent, "sent {sent}, got {got}");
    Ok(())
}

/// Gives the thread of a worker to raw UCX. Tag messages have `size` bytes.
pub(crate) fn serve(
    bench: &RawClient,
    worker: &Worker,
    kind: Kind,
    style: Style,
    size: usize,
) -> Result<Serving> {
    let serving = bench.task_serve(worker, kind, style, size as u64).submit()?;
    // The command may still be unsent.
    worker.engine().progress();
    Ok(serving)
}

pub(crate) fn prepare(
    bench: &RawClient,
    worker: &Worker,
    number: u64,
    kind: Kind,
) -> Result<Vec<u8>> {
    let theirs = bench.task_prepare(worker, number, kind).submit()?.wait()?;
    Ok(theirs.address[..theirs.length as usize].to_vec())
}

pub(crate) fn introduce(
    bench: &RawClient,
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
