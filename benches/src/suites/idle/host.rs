//! The host process: pauses, and sends a command; and those that it is compared with: raw UCX, and two threads.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use bench_raw::{Kind, Peer, STOP, Style};
use serde::{Deserialize, Serialize};
use urom_host::{CpuSet, Host, Service, Worker, block_on};

use crate::child;
use crate::cores::pin;
use crate::suites::loopback::host::connect;
use crate::suites::sleeper::Sleeper;
use crate::transport::Transport;

/// What it is started with.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Arguments {
    pub(super) daemon: String,
    pub(super) transport: Transport,
    pub(super) core: usize,
    pub(super) worker_core: usize,
}

/// How many pauses to make.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) pauses: u64,
}

/// Nanoseconds from the end of each pause to the answer.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Latencies {
    pub(super) commands: Vec<u64>,
    /// The same of a host that never sleeps.
    pub(super) spinning: Vec<u64>,
    /// Of raw UCX between the same two threads.
    pub(super) raw: Vec<u64>,
    /// Of two threads that wake each other.
    pub(super) threads: Vec<u64>,
}

/// How long a host of the kit looks before it sleeps, over shared memory; over TCP it looks some times longer.
const HOST_SPINS: Duration = Duration::from_micros(50);

/// The process from beginning to end.
pub(super) fn run(arguments: &str) -> Result<()> {
    let arguments: Arguments =
        serde_json::from_str(arguments).context("what a host is started with")?;
    let service = Service::builder().address(&arguments.daemon).connect()?;
    let graph = service.plugin::<graph_protocol::Protocol>()?;
    let peer = service.plugin::<bench_protocol::Protocol>()?;
    let cpus: CpuSet = [arguments.worker_core].into_iter().collect();
    let worker = service.worker().any_id().plugin(graph.plugin()).plugin(peer.plugin()).cpus(cpus);
    let worker = block_on(worker.start())?;
    let sleeper = Sleeper::start(arguments.transport, arguments.worker_core)?;
    pin(arguments.core).context("cannot pin the host to its core")?;
    let raw = RawUcx::new(peer, &worker, arguments.transport)?;
    let command = |data| -> Result<()> {
        let done = graph.task_loopback(&worker, data).submit()?.wait()?;
        ensure!(done.data == data, "sent {data}, got {}", done.data);
        Ok(())
    };
    let spinning = |data| -> Result<()> {
        let sent = graph.task_loopback(&worker, data).submit()?;
        while !sent.is_complete() {
            worker.engine().progress();
        }
        let done = sent.wait()?;
        ensure!(done.data == data, "sent {data}, got {}", done.data);
        Ok(())
    };
    // So that nothing is done for the first time.
    (0..1_000).try_for_each(command)?;
    child::serve(|Order { pauses }| {
        let mut latencies = Latencies::default();
        for number in 0..pauses {
            latencies.commands.push(after_a_pause(number, || command(number))?);
            latencies.threads.push(after_a_pause(number, || sleeper.wake_and_look(HOST_SPINS))?);
            latencies.raw.push(raw.after_a_pause(number)?);
            latencies.spinning.push(after_a_pause(number, || spinning(number))?);
        }
        Ok(latencies)
    })
}

/// Pauses longer or shorter, to come at another moment of the worker's sleep each time, and times what comes then. The same comes
/// before the pause, so that it does not matter who was measured last.
fn after_a_pause(number: u64, work: impl Fn() -> Result<()>) -> Result<u64> {
    work()?;
    std::thread::sleep(Duration::from_millis(5 + number * 29 % 66));
    let begin = Instant::now();
    work()?;
    Ok(begin.elapsed().as_nanos() as u64)
}

/// Raw UCX of this process and of the worker's, both asleep between messages until they are woken.
struct RawUcx<'a> {
    bench: bench_protocol::Client<Host>,
    worker: &'a Worker,
    kind: Kind,
    peer: Peer,
}

impl RawUcx<'_> {
    fn new(
        bench: bench_protocol::Client<Host>,
        worker: &Worker,
        transport: Transport,
    ) -> Result<RawUcx<'_>> {
        // The settings are about shared memory, and would have UCX use it.
        let same_settings = transport == Transport::SharedMemory;
        let kind = Kind { same_settings, sleeps: true, ..Kind::default() };
        let peer = connect(&bench, worker, 0, kind)?;
        Ok(RawUcx { bench, worker, kind, peer })
    }

    /// Has the worker serve nothing else meanwhile.
    fn after_a_pause(&self, number: u64) -> Result<u64> {
        let serve = self
            .bench
            .task_serve(self.worker, self.kind.number(), Style::ShortAtOnce.number())
            .submit()?;
        // From here on only raw UCX has its turn, and the command may still wait to leave.
        self.worker.engine().progress();
        let time =
            after_a_pause(number, || self.peer.round_trip_asleep().map_err(|what| anyhow!(what)));
        self.peer.send(STOP);
        self.peer.progress();
        let bench_protocol::Served {} = serve.wait()?;
        time
    }
}
