//! Writes and reads through the RDMA plugin, against a relay of raw UCX through the same processes:
//! a host tells one worker, which sends as many bytes to another, and both answer the host.
//!
//! A figure is the time of an operation: as many bytes in this time are the bandwidth. The bytes
//! that move are fresh, as those of raw UCX are, and writing them is no part of the time.
//! *Asleep*: one write of 8 bytes after a pause, when the host and both workers sleep, and so do
//! all three ends of raw UCX.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bench_raw::{Kind, Peer, STOP, Style};
use rdma_host::{Rdma, RemoteMmap};
use rustix::process::getpid;
use urom_host::memory::{Access, Mmap};
use urom_host::{Service, Worker, block_on};
use urom_tests::PluginDirectory;

use super::counted::{COUNTS_DIRECTORY, DESCRIPTORS, PRELOAD, TIMES, counter, read};
use super::sandbox::{connect, write_fresh, yielding};
use crate::cores::{Cores, pin};
use crate::figure::Figure;
use crate::launch::{Daemon, Launch, worker};
use crate::party::{RawClient, serve};
use crate::processes::children;
use crate::statistics::{in_turns, of_rounds};

const SIZES: [usize; 5] = [64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20];
/// The size of a write after a pause.
const SMALL: usize = 8;
/// The operations that allocations are counted of.
const COUNTED: u32 = 2000;
const PLUGINS: [&str; 2] = ["worker_rdma", "worker_benchpeer"];
/// How long everybody has to fall asleep.
const PAUSE: Duration = Duration::from_millis(10);

static REQUEST: [u8; 96] = [0x5a; 96];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Write,
    Read,
    Asleep,
}

struct Party {
    bench: RawClient,
    /// That of the host that asks, and its other end's.
    workers: [Worker; 2],
    rdma: [Rdma; 2],
    memory: Mmap,
    remote: RemoteMmap,
    /// Connected to the asking worker first and the other second.
    raw: Peer,
    asleep: Peer,
    theirs: Mmap,
    // Both after everything that they serve.
    _service: Service,
    _daemon: Daemon,
}

pub(super) fn measure(launch: &Launch) -> Result<Vec<Figure>> {
    let party = Party::start(launch)?;
    let mut figures = Vec::new();
    for way in [Way::Write, Way::Read] {
        for size in SIZES {
            figures.push(party.measure(launch, way, size).with_context(|| size.to_string())?);
        }
    }
    figures.push(party.measure(launch, Way::Asleep, SMALL)?);
    Ok(figures)
}

/// The heap allocations of an operation at the host and in both workers, besides the descriptors
/// that DOCA's interface takes for a command and its answer. Those of UCX count: over shared memory
/// it allocates one for the key of a long message's memory. A few operations in thousands make
/// something grow.
pub(super) fn allocations(launch: &Launch) -> Result<Vec<Figure>> {
    let daemon = Daemon::start(PluginDirectory::with(&PLUGINS)?, |command| {
        command.args(["--worker-env", PRELOAD.0, "--worker-env", COUNTS_DIRECTORY])
    })?;
    let pid = daemon.pid();
    let party = Party::with(launch, daemon)?;
    let workers = children(pid)?.into_iter().map(counter).collect::<Result<Vec<_>>>()?;
    let host = counter(getpid())?;
    let all = || -> Result<f64> {
        workers.iter().map(|worker| Ok(read(worker)?[0])).sum::<Result<f64>>()
    };
    let mut figures = Vec::new();
    for (way, what) in [(Way::Write, "write"), (Way::Read, "read")] {
        for size in [SMALL, SIZES[0]] {
            let count = |operations| -> Result<[f64; 2]> {
                let before = [read(&host)?[0], all()?];
                for _ in 0..operations {
                    party.operation(way, size, 0)?;
                }
                Ok([read(&host)?[0] - before[0], all()? - before[1]])
            };
            // Buffers grow first.
            count(COUNTED)?;
            let mut counts = [Vec::new(), Vec::new()];
            for _ in 0..TIMES {
                let (once, twice) = (count(COUNTED)?, count(2 * COUNTED)?);
                for (side, counts) in counts.iter_mut().enumerate() {
                    counts.push(((twice[side] - once[side]) / f64::from(COUNTED)).round());
                }
            }
            let counts = [of_rounds(&counts[0])?, of_rounds(&counts[1])?];
            let each = |side: usize| counts[side];
            let name =
                |side| format!("rdma/allocations/{what}/{}/{side}/{size}", launch.transport.name());
            figures.push(Figure::new(name("host"), "allocations", each(0)));
            let note = "in both workers, besides the descriptors of a command and its answer";
            let workers = Figure::new(name("workers"), "allocations", each(1) - DESCRIPTORS);
            figures.push(workers.note(note));
        }
    }
    Ok(figures)
}

impl Party {
    fn start(launch: &Launch) -> Result<Party> {
        Party::with(launch, launch.daemon(&PLUGINS)?)
    }

    fn with(launch: &Launch, daemon: Daemon) -> Result<Party> {
        let cores = &launch.cores;
        let service = daemon.connect()?;
        let plugin = service.plugin::<rdma_host::Protocol>()?;
        let bench = service.plugin::<bench_protocol::Protocol>()?;
        let start = |core| worker(&service, &[plugin.plugin(), bench.plugin()], core);
        let workers = [start(cores.worker())?, start(cores.host(1))?];
        pin(cores.host(0))?;
        let raw = connect(&bench, &workers[0], &workers[1], Kind::Awake)?;
        let asleep = connect(&bench, &workers[0], &workers[1], Kind::Asleep)?;

        let most = SIZES[SIZES.len() - 1];
        let all = Access::LOCAL_READ_WRITE | Access::RDMA_READ | Access::RDMA_WRITE;
        let (memory, theirs) = (Mmap::allocate(most, all)?, Mmap::allocate(most, all)?);
        let begin = |worker| {
            block_on(
                Rdma::builder(worker).permissions(Access::RDMA_READ | Access::RDMA_WRITE).start(),
            )
        };
        let rdma = [begin(&workers[0])?, begin(&workers[1])?];
        let remote = block_on(async {
            let details = [rdma[0].export().await?, rdma[1].export().await?];
            rdma[0].connect(&details[1]).await?;
            rdma[1].connect(&details[0]).await?;
            rdma[0].register(&memory).await?;
            RemoteMmap::import(&rdma[0], &rdma[1].export_mmap(&theirs).await?).await
        })?;
        Ok(Party {
            bench,
            workers,
            rdma,
            memory,
            remote,
            raw,
            asleep,
            theirs,
            _service: service,
            _daemon: daemon,
        })
    }

    /// Kit and raw UCX in turns.
    fn measure(&self, launch: &Launch, way: Way, size: usize) -> Result<Figure> {
        let start = Instant::now();
        self.round(&launch.cores, way, false, size, 1)?;
        let each = start.elapsed().as_nanos() as f64 / 3.0;
        let count = launch.trips(each, 3).min(100) as usize;
        let rounds = in_turns(launch.rounds(), 2, |side| {
            self.round(&launch.cores, way, side == 1, size, count)
        })?;
        let (what, peer) = match way {
            Way::Write => ("write", "raw UCX relay"),
            Way::Read => ("read", "raw UCX relay"),
            Way::Asleep => ("write-asleep", "raw UCX relay, asleep"),
        };
        let name = format!("rdma/{what}/{}/{size}", launch.transport.name());
        let figure = Figure::new(name, "ns", of_rounds(&rounds[0])?);
        Ok(figure.against(peer, of_rounds(&rounds[1])?))
    }

    /// The median time of an operation, in nanoseconds.
    fn round(
        &self,
        cores: &Cores,
        way: Way,
        of_raw: bool,
        size: usize,
        count: usize,
    ) -> Result<f64> {
        // The end that takes the bytes has the most to do, and has its core to itself. Raw UCX's
        // sender spins and lets nobody else run, so its host shares the receiver's all the same.
        pin(if way == Way::Write && !of_raw { cores.worker() } else { cores.host(0) })?;
        let raw = if way == Way::Asleep { &self.asleep } else { &self.raw };
        let serving = if of_raw {
            let serve =
                |to: usize, style| serve(&self.bench, &self.workers[to], raw.kind(), style, size);
            vec![serve(0, Style::Forward)?, serve(1, Style::Receive)?]
        } else {
            Vec::new()
        };
        let mut times = Vec::new();
        // The first one warms caches, and of raw UCX waits for the workers to take their commands.
        for number in 0..=count {
            if way == Way::Asleep {
                // The host's library polls for less.
                std::thread::sleep(PAUSE);
            }
            let time = match of_raw {
                false => self.operation(way, size, number as u8)?,
                true => relay(raw, way)?,
            };
            if number > 0 {
                times.push(time.as_nanos() as f64);
            }
        }
        for (to, serving) in serving.into_iter().enumerate() {
            raw.send_to(to, STOP);
            raw.progress();
            serving.wait()?;
        }
        of_rounds(&times)
    }

    fn operation(&self, way: Way, size: usize, byte: u8) -> Result<Duration> {
        let (rdma, part) = (&self.rdma[0], self.memory.slice(..size as u64));
        let source = if way == Way::Read { &self.theirs } else { &self.memory };
        write_fresh(&source.view().slice(0..size as u64)?, byte)?;
        let (start, there) = (Instant::now(), self.remote.at(0));
        match way {
            Way::Write => yielding(&self.workers[0], rdma.write(part, there))??,
            Way::Read => yielding(&self.workers[0], rdma.read(there, part))??,
            Way::Asleep => block_on(rdma.write(part, there))?,
        }
        Ok(start.elapsed())
    }
}

/// A message that one worker sends to the other.
fn relay(raw: &Peer, way: Way) -> Result<Duration> {
    let start = Instant::now();
    let counts = [raw.received(0) + 1, raw.received(1) + 1];
    raw.send(&REQUEST);
    for (from, count) in counts.into_iter().enumerate() {
        if way == Way::Asleep {
            raw.await_asleep(from, count)?;
            continue;
        }
        while raw.received(from) < count {
            if !raw.progress() {
                std::thread::yield_now();
            }
        }
    }
    Ok(start.elapsed())
}
