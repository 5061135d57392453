//! Writes and reads through the RDMA plugin, against a relay of raw UCX through the same processes:
//! a host asks one worker, which sends as many bytes to another, and both answer the host.
//!
//! A figure is the time of an operation, without writing its fresh bytes; raw UCX also sends fresh
//! bytes. *Asleep*: one write of 8 bytes after a pause, with the host, both workers and all three
//! ends of raw UCX asleep.

use std::time::Instant;

use anyhow::{Context, Result};
use rdma_host::{Rdma, RemoteMmap};
use rustix::process::getpid;
use urom_host::block_on;
use urom_host::memory::{Access, Mmap};
use urom_tests::PluginDirectory;

use super::counted::{COUNTS_DIRECTORY, DESCRIPTORS, PRELOAD, counter, per_operation, read};
use super::two_workers::{Operations, TwoWorkers, relay, write_fresh, yielding};
use crate::cores::pin;
use crate::figure::Figure;
use crate::launch::{Daemon, Launch};
use crate::processes::children;

const SIZES: [usize; 5] = [64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20];
const SMALL: usize = 8;
const COUNTED: u64 = 2000;
const PLUGINS: [&str; 2] = ["worker_rdma", "worker_benchpeer"];

static REQUEST: [u8; 96] = [0x5a; 96];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Transfer {
    Write,
    Read,
    Asleep,
}

struct RdmaEnds {
    rdma: [Rdma; 2],
    memory: Mmap,
    remote: RemoteMmap,
    theirs: Mmap,
    /// The asking end uses the first worker, and its other end the second.
    two: TwoWorkers,
}

pub(super) fn measure(launch: &Launch) -> Result<Vec<Figure>> {
    let party = RdmaEnds::start(launch, launch.daemon(&PLUGINS)?)?;
    let mut figures = Vec::new();
    for way in [Transfer::Write, Transfer::Read] {
        for size in SIZES {
            figures.push(party.measure(launch, way, size).with_context(|| size.to_string())?);
        }
    }
    figures.push(party.measure(launch, Transfer::Asleep, SMALL)?);
    Ok(figures)
}

/// Heap allocations of an operation at the host and in both workers, without DOCA's descriptors of
/// a command and its answer. UCX's allocations count: over shared memory it allocates one for the
/// key of a long message's memory.
pub(super) fn allocations(launch: &Launch) -> Result<Vec<Figure>> {
    let daemon = Daemon::start(PluginDirectory::with(&PLUGINS)?, |command| {
        command.args(["--worker-env", PRELOAD.0, "--worker-env", COUNTS_DIRECTORY])
    })?;
    let pid = daemon.pid();
    let party = RdmaEnds::start(launch, daemon)?;
    let workers = children(pid)?.into_iter().map(counter).collect::<Result<Vec<_>>>()?;
    let host = counter(getpid())?;
    let all = || -> Result<f64> {
        workers.iter().map(|worker| Ok(read(worker)?[0])).sum::<Result<f64>>()
    };
    let mut figures = Vec::new();
    for (way, what) in [(Transfer::Write, "write"), (Transfer::Read, "read")] {
        for size in [SMALL, SIZES[0]] {
            let count = |operations| -> Result<[f64; 2]> {
                let before = [read(&host)?[0], all()?];
                for _ in 0..operations {
                    party.operation(way, size, 0)?;
                }
                Ok([read(&host)?[0] - before[0], all()? - before[1]])
            };
            // Rounded: a few operations in thousands grow a buffer.
            let [at_host, at_workers] = per_operation(COUNTED, count)?.map(f64::round);
            let name =
                |side| format!("rdma/allocations/{what}/{}/{side}/{size}", launch.transport.name());
            figures.push(Figure::new(name("host"), "allocations", at_host));
            let note = "in both workers, without the descriptors of a command and its answer";
            let workers = Figure::new(name("workers"), "allocations", at_workers - DESCRIPTORS);
            figures.push(workers.note(note));
        }
    }
    Ok(figures)
}

impl RdmaEnds {
    fn start(launch: &Launch, daemon: Daemon) -> Result<RdmaEnds> {
        let service = daemon.connect()?;
        let plugin = service.plugin::<rdma_host::Protocol>()?;
        let two = TwoWorkers::start(launch, daemon, service, plugin.plugin())?;
        let most = SIZES[SIZES.len() - 1];
        let remote = Access::RDMA_READ | Access::RDMA_WRITE;
        let allocate = || Mmap::allocate(most, Access::LOCAL_READ_WRITE | remote);
        let (memory, theirs) = (allocate()?, allocate()?);
        let begin = |worker| block_on(Rdma::builder(worker).permissions(remote).start());
        let rdma = [begin(&two.workers[0])?, begin(&two.workers[1])?];
        let remote = block_on(async {
            let details = [rdma[0].export().await?, rdma[1].export().await?];
            rdma[0].connect(&details[1]).await?;
            rdma[1].connect(&details[0]).await?;
            rdma[0].register(&memory).await?;
            RemoteMmap::import(&rdma[0], &rdma[1].export_mmap(&theirs).await?).await
        })?;
        Ok(RdmaEnds { rdma, memory, remote, theirs, two })
    }

    fn measure(&self, launch: &Launch, way: Transfer, size: usize) -> Result<Figure> {
        let round = |count| Operations { warm_up: 1, count, asleep: way == Transfer::Asleep };
        let kit = |round| {
            self.two.round(round, |number, times| {
                times.push(self.operation(way, size, number)?);
                Ok(())
            })
        };
        let start = Instant::now();
        kit(round(1))?;
        let each = start.elapsed().as_nanos() as f64 / 3.0;
        let round = round(launch.trips(each, 3).min(100) as usize);
        let (what, peer) = match way {
            Transfer::Write => ("write", "raw UCX relay"),
            Transfer::Read => ("read", "raw UCX relay"),
            Transfer::Asleep => ("write-asleep", "raw UCX relay, asleep"),
        };
        let name = format!("rdma/{what}/{}/{size}", launch.transport.name());
        let (host, worker) = (launch.cores.host(0), launch.cores.worker());
        launch.compare(name, peer, |side| {
            // The end that takes the bytes has the most work, and its own core. Raw UCX's sender
            // spins without yielding, so its host shares the receiver's core.
            pin(if way == Transfer::Write && side == 0 { worker } else { host })?;
            if side == 0 {
                return kit(round);
            }
            self.two.raw_round(round, size, |raw, times| {
                times.push(relay(raw, &REQUEST)?);
                Ok(())
            })
        })
    }

    fn operation(&self, way: Transfer, size: usize, number: usize) -> Result<f64> {
        let (rdma, part) = (&self.rdma[0], self.memory.slice(..size as u64));
        let source = if way == Transfer::Read { &self.theirs } else { &self.memory };
        write_fresh(&source.view().slice(0..size as u64)?, number)?;
        let (start, there, asking) = (Instant::now(), self.remote.at(0), &self.two.workers[0]);
        match way {
            Transfer::Write => yielding(asking, rdma.write(part, there))??,
            Transfer::Read => yielding(asking, rdma.read(there, part))??,
            Transfer::Asleep => block_on(rdma.write(part, there))?,
        }
        Ok(start.elapsed().as_nanos() as f64)
    }
}
