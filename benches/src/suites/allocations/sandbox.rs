//! Heap allocations of the sandbox plugin's sends and receives whose bytes travel with the command: at the host, in the worker that
//! sends, and in the one that receives.
//!
//! The host counts, as it knows when it sends and when it receives. It reads the counts of all three without an allocation.

use std::collections::BTreeSet;
use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use urom_host::Service;
use urom_tests::{PluginDirectory, Uromd};

use super::{DESCRIPTORS, NAME, NOTE};
use crate::child::Child;
use crate::cores::pin;
use crate::extent::Extent;
use crate::figure::Figure;
use crate::statistics::median;
use crate::suites::counted::{TIMES, variables};
use crate::suites::inline::{BATCH, Pair, collect, worker};
use crate::transport::Transport;

const SIZES: [usize; 2] = [8, 4000];
/// How many batches are counted at a time.
const BATCHES: usize = 50;

/// What the host is started with.
#[derive(Serialize, Deserialize)]
struct Arguments {
    daemon: String,
    transport: Transport,
    /// Where it counts, and where workers do.
    counts: [PathBuf; 2],
    /// The cores of the host, the sender and the receiver.
    cores: [usize; 3],
}

pub(super) fn launch(extent: &Extent, transport: Transport) -> Result<Vec<Figure>> {
    let (variable, value) = transport.variable();
    let (hosts, workers) = (TempDir::new()?, TempDir::new()?);
    let for_workers = variables(workers.path()).map(|(name, value)| format!("{name}={value}"));
    let plugins = PluginDirectory::with(&["worker_sandbox"])?;
    let daemon = Uromd::start_with(plugins.variable(), |command| {
        command.args(["-l", "30"]).env(variable, value);
        command.args(for_workers.iter().flat_map(|variable| ["--worker-env", variable]))
    })?;
    let [host, sender] = extent.cores.pair();
    let arguments = Arguments {
        daemon: daemon.address().to_owned(),
        transport,
        counts: [&hosts, &workers].map(|directory| directory.path().to_owned()),
        cores: [host, sender, extent.cores.host(1)],
    };
    let mut host = Child::start(NAME, &arguments, |command| {
        command.env(variable, value).envs(variables(hosts.path()))
    })?;
    let figures = host.answer()?;
    host.finish()?;
    ensure!(daemon.stop()?.success(), "uromd did not end in order");
    Ok(figures)
}

/// The host of a launch.
pub(super) fn child(arguments: &str) -> Result<()> {
    let arguments: Arguments =
        serde_json::from_str(arguments).context("what a launch is started with")?;
    let [hosts, workers] = &arguments.counts;
    let [core, sender, receiver] = arguments.cores;
    let service = Service::builder().address(&arguments.daemon).connect()?;
    let sandbox = service.plugin::<sandbox_protocol::Protocol>()?;
    let mut known = BTreeSet::new();
    let host = Counter::of_another(hosts, &mut known)?;
    let sender = worker(&service, &[sandbox.plugin()], sender)?;
    let at_sender = Counter::of_another(workers, &mut known)?;
    let receiver = worker(&service, &[sandbox.plugin()], receiver)?;
    let at_receiver = Counter::of_another(workers, &mut known)?;
    let pair = Pair::of(&service, sender, receiver)?;
    pin(core).context("cannot pin the host to its core")?;

    // What some batches take: at the host for sends and for receives, and in the workers.
    let count = |size: usize| -> Result<[f64; 4]> {
        let mut sums = [0; 4];
        // With room, so that this program's own allocation is not among those that are counted.
        let mut receives = Vec::with_capacity(BATCH);
        let before = [at_sender.read()?, at_receiver.read()?];
        for _ in 0..BATCHES {
            let begin = host.read()?;
            pair.receives(&sandbox, size, &mut receives)?;
            let sends = host.read()?;
            (0..BATCH).try_for_each(|_| pair.send(&sandbox, size))?;
            let sent = host.read()?;
            collect(&mut receives, size)?;
            sums[0] += sent - sends;
            sums[1] += sends - begin + (host.read()? - sent);
        }
        sums[2] = at_sender.read()? - before[0];
        sums[3] = at_receiver.read()? - before[1];
        Ok(sums.map(|sum| sum as f64 / (BATCHES * BATCH) as f64))
    };
    // The host's thread counts once it has sent something: else there would be none here.
    count(SIZES[0])?;
    let before = host.read()?;
    drop(black_box(Box::new(before)));
    ensure!(host.read()? == before + 1, "an allocation of the host's was not counted");
    let mut figures = Vec::new();
    for size in SIZES {
        // Most of what grows has its size then.
        count(size)?;
        let counts = (0..TIMES).map(|_| count(size)).collect::<Result<Vec<_>>>()?;
        let each = |at: usize| -> Result<f64> {
            let counts: Vec<f64> = counts.iter().map(|counts| counts[at]).collect();
            median(&counts).context("nothing was counted")
        };
        for (what, host, worker) in [("send", 0, 2), ("receive", 1, 3)] {
            let name = |side| {
                format!("{NAME}/sandbox-{what}/{}/{side}/{size}", arguments.transport.name())
            };
            let (host, worker) = (each(host)?, each(worker)?);
            ensure!(
                worker >= DESCRIPTORS,
                "{worker} allocations in a worker: the counting does not work"
            );
            figures.extend([
                Figure::new(name("host"), "allocations", host),
                Figure::new(name("worker"), "allocations", worker - DESCRIPTORS).note(NOTE),
            ]);
        }
    }
    println!("{}", serde_json::to_string(&figures)?);
    Ok(())
}

/// The allocations of a process, as it counts them.
struct Counter(File);

impl Counter {
    /// Of the one process that counts into a directory and is not known yet.
    fn of_another(directory: &Path, known: &mut BTreeSet<PathBuf>) -> Result<Counter> {
        let entries = std::fs::read_dir(directory)?.map(|entry| Ok(entry?.path()));
        let mut others: Vec<PathBuf> = entries.collect::<Result<_>>()?;
        others.retain(|path| known.insert(path.clone()));
        let [path] = &others[..] else {
            anyhow::bail!("{} other processes count in {}", others.len(), directory.display())
        };
        Ok(Counter(File::open(path)?))
    }

    fn read(&self) -> Result<u64> {
        let mut bytes = [0; 8];
        self.0.read_exact_at(&mut bytes, 0)?;
        Ok(u64::from_ne_bytes(bytes))
    }
}
