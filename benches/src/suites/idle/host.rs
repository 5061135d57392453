//! The host process: pauses, and sends a command; and the two threads that it is compared with.

use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::event::{EventfdFlags, eventfd};
use serde::{Deserialize, Serialize};
use urom_host::{CpuSet, Service, block_on};

use crate::child;
use crate::cores::pin;
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
    pub(super) threads: Vec<u64>,
}

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
    // So that nothing is done for the first time.
    (0..1_000).try_for_each(command)?;
    child::serve(|Order { pauses }| {
        let mut latencies = Latencies { commands: Vec::new(), threads: Vec::new() };
        for number in 0..pauses {
            latencies.commands.push(after_a_pause(number, || command(number))?);
            latencies.threads.push(after_a_pause(number, || sleeper.wake())?);
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

/// A thread on the worker's core that wakes whoever has woken it. It ends with the process.
struct Sleeper {
    end: End,
}

/// What one thread wakes the other by, and is woken by.
struct End {
    to: OwnedFd,
    from: OwnedFd,
}

impl Sleeper {
    fn start(transport: Transport, core: usize) -> Result<Sleeper> {
        let (end, theirs) = match transport {
            Transport::SharedMemory => End::of_events()?,
            Transport::Tcp => End::of_a_connection()?,
        };
        std::thread::spawn(move || -> rustix::io::Result<()> {
            pin(core)?;
            loop {
                theirs.wait()?;
                theirs.ring()?;
            }
        });
        Ok(Sleeper { end })
    }

    fn wake(&self) -> Result<()> {
        self.end.ring()?;
        Ok(self.end.wait()?)
    }
}

impl End {
    /// Through the kernel and nothing else.
    fn of_events() -> Result<(End, End)> {
        let event = || eventfd(0, EventfdFlags::CLOEXEC);
        let (there, back) = (event()?, event()?);
        let theirs = End { to: back.try_clone()?, from: there.try_clone()? };
        Ok((End { to: there, from: back }, theirs))
    }

    /// Through a connection over the loopback device.
    fn of_a_connection() -> Result<(End, End)> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let ours = TcpStream::connect(listener.local_addr()?)?;
        let (theirs, _) = listener.accept()?;
        let end = |stream: TcpStream| -> Result<End> {
            stream.set_nodelay(true)?;
            Ok(End { to: stream.try_clone()?.into(), from: stream.into() })
        };
        Ok((end(ours)?, end(theirs)?))
    }

    fn ring(&self) -> rustix::io::Result<()> {
        rustix::io::write(&self.to, &1u64.to_ne_bytes()).map(drop)
    }

    fn wait(&self) -> rustix::io::Result<()> {
        rustix::io::read(&self.from, &mut [0; 8]).map(drop)
    }
}
