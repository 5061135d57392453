//! The host process: pauses, and sends a command; and the two threads that it is compared with.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use urom_host::{CpuSet, Service, block_on};

use crate::child;
use crate::cores::pin;
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
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Latencies {
    pub(super) commands: Vec<u64>,
    /// The same of a host that never sleeps.
    pub(super) spinning: Vec<u64>,
    pub(super) threads: Vec<u64>,
}

/// How long a host of the kit looks before it sleeps.
const HOST_SPINS: Duration = Duration::from_micros(50);

/// The process from beginning to end.
pub(super) fn run(arguments: &str) -> Result<()> {
    let arguments: Arguments = serde_json::from_str(arguments).context("what a host is started with")?;
    let service = Service::builder().address(&arguments.daemon).connect()?;
    let graph = service.plugin::<graph_protocol::Protocol>()?;
    let cpus: CpuSet = [arguments.worker_core].into_iter().collect();
    let worker = block_on(service.worker().any_id().plugin(graph.plugin()).cpus(cpus).start())?;
    let sleeper = Sleeper::start(arguments.transport, arguments.worker_core)?;
    pin(arguments.core).context("cannot pin the host to its core")?;
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
        let mut latencies = Latencies { commands: Vec::new(), spinning: Vec::new(), threads: Vec::new() };
        for number in 0..pauses {
            latencies.commands.push(after_a_pause(number, || command(number))?);
            latencies.threads.push(after_a_pause(number, || sleeper.wake_and_look(HOST_SPINS))?);
            latencies.spinning.push(after_a_pause(number, || spinning(number))?);
        }
        Ok(latencies)
    })
}

/// Pauses longer or shorter, to come at another moment of the worker's sleep each time, and times what comes then.
fn after_a_pause(number: u64, work: impl FnOnce() -> Result<()>) -> Result<u64> {
    std::thread::sleep(Duration::from_millis(5 + number * 29 % 66));
    let begin = Instant::now();
    work()?;
    Ok(begin.elapsed().as_nanos() as u64)
}
