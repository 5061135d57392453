//! Heap allocations of a command in steady state, at the host and in the worker.
//!
//! Over TCP, UCX remembers which memory it has sent from. It allocates the first time that a buffer
//! is used: a few times in thousands of commands.

use std::hint::black_box;

use anyhow::{Context, Result, ensure};

use super::Suite;
use super::counted::{self, Counted, Counter, TIMES, difference};
use super::inline::{BATCH, Pair, collect};
use crate::cores::pin;
use crate::figure::Figure;
use crate::launch::{DEPTH, Launch, worker};
use crate::processes;
use crate::statistics::of_rounds;

pub(crate) const SUITE: Suite = Suite {
    name: NAME,
    about: "heap allocations of a command, at the host and in the worker",
    parts: &[counted::part(loopbacks), counted::part(sandbox)],
    process: None,
};

const NAME: &str = "allocations";
/// The ABI's own allocations for a command: its descriptor, and that of its answer.
const DESCRIPTORS: f64 = 2.0;

fn figures(name: impl Fn(&str) -> String, host: f64, worker: f64) -> Result<[Figure; 2]> {
    // A worker that does not count would seem to keep the budget.
    ensure!(worker >= DESCRIPTORS, "{worker} allocations in a worker: the counting does not work");
    let note = "besides the descriptors of the command and of its answer, which the ABI demands";
    Ok([
        Figure::new(name("host"), "allocations", host),
        Figure::new(name("worker"), "allocations", worker - DESCRIPTORS).note(note),
    ])
}

fn loopbacks(launch: &Launch) -> Result<Vec<Figure>> {
    let counted = Counted::start(launch)?;
    let mut all = Vec::new();
    for depth in [1, DEPTH] {
        let [host, worker] = counted.each(launch, depth)?;
        let transport = launch.transport.name();
        let name = |side: &str| format!("{NAME}/per-command/{transport}/{side}/{depth}");
        all.extend(figures(name, host.allocations, worker.allocations)?);
    }
    Ok(all)
}

const BATCHES: usize = 50;

/// Sends and receives of the sandbox plugin whose bytes travel with the command: at the host, in
/// the worker that sends, and in the one that receives.
fn sandbox(launch: &Launch) -> Result<Vec<Figure>> {
    let daemon = counted::daemon(&["worker_sandbox"])?;
    let service = daemon.connect()?;
    let sandbox = service.plugin::<sandbox_protocol::Protocol>()?;
    let sender = worker(&service, &[sandbox.plugin()], launch.cores.worker())?;
    let pid = processes::only_child(daemon.pid())?;
    let receiver = worker(&service, &[sandbox.plugin()], launch.cores.host(1))?;
    let other = processes::children(daemon.pid())?.into_iter().find(|child| *child != pid);
    let (host, at_sender) = (Counter::of(rustix::process::getpid())?, Counter::of(pid)?);
    let at_receiver = Counter::of(other.context("the daemon has two workers")?)?;
    let pair = Pair::of(&service, sender, receiver)?;
    pin(launch.cores.host(0))?;

    // The allocations of some batches: at the host for sends and for receives, and in the workers.
    let count = |size: usize| -> Result<[f64; 4]> {
        let mut sums = [0.0; 4];
        // With room, so that this program's own allocation is not counted.
        let mut receives = Vec::with_capacity(BATCH);
        let before = [at_sender.read()?, at_receiver.read()?];
        for _ in 0..BATCHES {
            let begin = host.read()?;
            pair.receives(&sandbox, size, &mut receives)?;
            let sends = host.read()?;
            (0..BATCH).try_for_each(|_| pair.send(&sandbox, size))?;
            let sent = host.read()?;
            collect(&mut receives, size)?;
            let (first, last) = (difference(sends, begin), difference(host.read()?, sent));
            sums[0] += difference(sent, sends).allocations;
            sums[1] += first.allocations + last.allocations;
        }
        sums[2] = difference(at_sender.read()?, before[0]).allocations;
        sums[3] = difference(at_receiver.read()?, before[1]).allocations;
        Ok(sums.map(|sum| sum / (BATCHES * BATCH) as f64))
    };
    // The host's thread counts once it has sent something.
    count(8)?;
    let before = host.read()?;
    drop(black_box(Box::new(before)));
    let counted = difference(host.read()?, before).allocations;
    ensure!(counted == 1.0, "an allocation of the host was not counted");
    let mut all = Vec::new();
    for size in [8, 4000] {
        // Buffers grow first.
        count(size)?;
        let counts = (0..TIMES).map(|_| count(size)).collect::<Result<Vec<_>>>()?;
        let each =
            |at: usize| of_rounds(&counts.iter().map(|counts| counts[at]).collect::<Vec<_>>());
        for (what, host, worker) in [("send", 0, 2), ("receive", 1, 3)] {
            let transport = launch.transport.name();
            let name = |side: &str| format!("{NAME}/sandbox-{what}/{transport}/{side}/{size}");
            all.extend(figures(name, each(host)?, each(worker)?)?);
        }
    }
    Ok(all)
}
