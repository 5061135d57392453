//! A plugin's use of a host's memory, against `memcpy`, the kernel's copies and atomic operations;
//! and sharing memory, against mapping and first touching it.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use bench_protocol::MemoryAccess;
use urom_host::memory::{Access, MemoryPath, MemoryShare, Mmap, Share};
use urom_host::{Service, Worker};

use crate::cores::pin;
use crate::figure::Figure;
use crate::launch::{Daemon, Launch, worker};
use crate::party::RawClient;

const SIZES: [usize; 5] = [4 << 10, 64 << 10, 256 << 10, 1 << 20, 16 << 20];

const SHARED: usize = 16 << 20;

/// Approximate bytes moved in a round.
const MOVED: u64 = 64 << 20;

const BOTH: Access = Access::LOCAL_READ_WRITE.union(Access::PCI_READ_WRITE);

struct MemoryHost {
    bench: RawClient,
    worker: Worker,
    _service: Service,
    _daemon: Daemon,
}

pub(super) fn measure(launch: &Launch) -> Result<Vec<Figure>> {
    let party = MemoryHost::start(launch)?;
    let mut figures = Vec::new();
    for size in SIZES {
        let mapped = Mmap::allocate(size, BOTH)?;
        let shared = party.share(&mapped, MemoryPath::MAPPED)?;
        for (access, name) in [(MemoryAccess::Read, "read"), (MemoryAccess::Write, "write")] {
            let name = format!("memory/{name}/mapped/{size}");
            figures.push(party.time(launch, &mapped, &shared, access, &name, "memcpy")?);
        }
        let own = Mmap::from_vec(vec![1; size], BOTH)?;
        let shared = party.share(&own, MemoryPath::PROCESS)?;
        let (access, name) = (MemoryAccess::ReadOfProcess, format!("memory/read/process/{size}"));
        figures.push(party.time(launch, &own, &shared, access, &name, "process_vm_readv")?);
    }
    let word = Mmap::allocate(4096, BOTH)?;
    let shared = party.share(&word, MemoryPath::MAPPED)?;
    let access = MemoryAccess::FetchAdd;
    let name = "memory/fetch-add/mapped/8";
    figures.push(party.time(launch, &word, &shared, access, name, "a processor's")?);
    let open = party.time(launch, &word, &shared, MemoryAccess::Open, "memory/open/mapped", "")?;
    figures.push(Figure::new(open.name, "ns", open.kit.value));
    figures.push(party.sharing(launch)?);
    Ok(figures)
}

impl MemoryHost {
    fn start(launch: &Launch) -> Result<MemoryHost> {
        let daemon = launch.daemon(&["worker_benchpeer"])?;
        let service = daemon.connect()?;
        let bench = service.plugin::<bench_protocol::Protocol>()?;
        let worker = worker(&service, &[bench.plugin()], launch.cores.worker())?;
        pin(launch.cores.host(0))?;
        Ok(MemoryHost { bench, worker, _service: service, _daemon: daemon })
    }

    fn share(&self, memory: &Mmap, path: MemoryPath) -> Result<MemoryShare> {
        memory.view().copy_from(0, &vec![1; memory.len() as usize])?;
        let shared = memory.share_from(&self.worker, path).wait()?;
        ensure!(shared.path() == path, "the memory is {}", shared.path().name());
        Ok(shared)
    }

    fn time(
        &self,
        launch: &Launch,
        memory: &Mmap,
        shared: &MemoryShare,
        access: MemoryAccess,
        name: &str,
        peer: &str,
    ) -> Result<Figure> {
        let times = match access {
            MemoryAccess::FetchAdd | MemoryAccess::Open => 100_000,
            _ => (MOVED / memory.len()).clamp(4, 20_000),
        };
        let range = match access {
            MemoryAccess::FetchAdd => shared.slice(..8),
            _ => shared.range(),
        };
        let (process, address) = (u64::from(std::process::id()), memory.address());
        let rounds = launch.rounds() as u64;
        let timed = self
            .bench
            .task_time_memory(&self.worker, range, access, process, address, times, rounds)
            .submit()?
            .wait()
            .with_context(|| name.to_owned())?;
        let nanoseconds = |picoseconds| picoseconds as f64 / 1000.0;
        let figure = Figure::new(name.to_owned(), "ns", nanoseconds(timed.kit));
        Ok(figure.against(peer, nanoseconds(timed.peer)))
    }

    fn sharing(&self, launch: &Launch) -> Result<Figure> {
        let name = format!("memory/share/{SHARED}");
        launch.compare(name, "mmap and the first touch", |side| {
            let memory = Mmap::allocate(SHARED, BOTH)?;
            if side == 0 {
                touch(&memory)?;
                let begin = Instant::now();
                let shared = memory.share(&self.worker).wait()?;
                let time = begin.elapsed();
                shared.unshare().wait()?;
                return Ok(time.as_nanos() as f64);
            }
            drop(memory);
            let begin = Instant::now();
            touch(&Mmap::allocate(SHARED, BOTH)?)?;
            Ok(begin.elapsed().as_nanos() as f64)
        })
    }
}

fn touch(memory: &Mmap) -> Result<()> {
    for page in (0..memory.len() / 8).step_by(512) {
        memory.view().set(page, page)?;
    }
    Ok(())
}
