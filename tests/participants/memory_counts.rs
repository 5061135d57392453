//! Counts the descriptors and mappings of this process and of a worker, before and after a thousand
//! shares on each path and after hosts have left. Also shares the maximum number of memories.
//!
//! Takes the arguments of `Participants`; `UROM_DOCA_LIBRARY` selects the library.

#[path = "../tests/whole_path/paths.rs"]
mod paths;

use std::fs;
use std::path::Path;
use std::thread::yield_now;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use memory_protocol::{Client, Protocol};
use paths::{BOTH, PATHS};
use urom_host::memory::{MemoryPath, MemoryShare, Mmap, Share};
use urom_host::{DocaError, Host, Service, ServiceBuilder, Worker, block_on_for};

const LIMIT: Duration = Duration::from_secs(60);

const SETTLED: Duration = Duration::from_secs(10);

const SHARES: (usize, usize) = (300, 700);

const MOST_OF_HOST: usize = 4096;

struct Reached {
    plugin: Client<Host>,
    worker: Worker,
    _service: Service,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Counts {
    descriptors: usize,
    mappings: usize,
}

fn main() -> Result<()> {
    let target = std::env::args().nth(1).context("which target?")?;
    let builder = || -> Result<ServiceBuilder> {
        Ok(match target.split_once(':').context("a target")? {
            ("address", address) => Service::builder().address(address),
            (_, path) => Service::builder().plugin_paths([path]),
        })
    };
    println!("nowhere");
    let at = Reached::new(builder()?.connect_blocking()?, None)?;
    let process = at.plugin.task_process(&at.worker).submit()?.wait()?.value;
    // Warm-up: some resources are created once and kept.
    for path in PATHS {
        at.share_at_once(path, 50)?;
    }
    let now = || Ok::<_, anyhow::Error>([Counts::of("self")?, Counts::of(process)?]);
    let before = now()?;
    let settle = |what: &str| {
        let start = Instant::now();
        while now()? != before {
            ensure!(start.elapsed() < SETTLED, "{what}: {:?}, and before {before:?}", now()?);
            yield_now();
        }
        Ok(())
    };
    for path in PATHS {
        for _ in 0..SHARES.0 {
            at.share(path)?.1.unshare().wait()?;
        }
        settle(&format!("one after the other, {}", path.name()))?;
        at.share_at_once(path, SHARES.1)?;
        settle(&format!("at once, {}", path.name()))?;
    }
    at.share_as_many_as_may_be()?;
    settle("up to the limit")?;
    // An embedded service is a new service for each connection.
    if target.starts_with("address:") {
        for _ in 0..5 {
            at.leave(builder()?.connect_blocking()?)?;
        }
        settle("hosts that left")?;
    }
    Ok(())
}

impl Reached {
    fn new(service: Service, id: Option<u64>) -> Result<Reached> {
        let named = std::env::var_os("UROM_DOCA_LIBRARY").filter(|library| library != "builtin");
        ensure!(service.library().path() == named.as_deref().map(Path::new));
        let plugin = service.plugin::<Protocol>()?;
        let starts = service.worker().plugin(&plugin);
        let starts = if let Some(id) = id { starts.id(id) } else { starts };
        let worker = starts.start().wait()?;
        Ok(Reached { plugin, worker, _service: service })
    }

    fn share(&self, path: MemoryPath) -> Result<(Mmap, MemoryShare)> {
        let memory = paths::allocate(64, BOTH, path)?;
        let shared = paths::share(&memory, &self.worker, path)?;
        Ok((memory, shared))
    }

    fn share_at_once(&self, path: MemoryPath, count: usize) -> Result<()> {
        // A memfd keeps its descriptor open.
        let at_once = if path == MemoryPath::MAPPED { count.min(350) } else { count };
        for _ in 0..count / at_once {
            let memories = (0..at_once)
                .map(|_| paths::allocate(64, BOTH, path))
                .collect::<Result<Vec<_>>>()?;
            let shares: Vec<_> =
                memories.iter().map(|it| it.share_from(&self.worker, path)).collect();
            let mut shared = Vec::new();
            for share in shares {
                shared.push(block_on_for(LIMIT, share)??);
                let by = shared.last().map(MemoryShare::path);
                ensure!(by == Some(path), "{} of {at_once}: {by:?}", shared.len());
            }
            drop(memories);
            let ends: Vec<_> = shared.into_iter().map(MemoryShare::unshare).collect();
            for end in ends {
                block_on_for(LIMIT, end)??;
            }
        }
        Ok(())
    }

    fn share_as_many_as_may_be(&self) -> Result<()> {
        let path = MemoryPath::PROCESS;
        let memories = (0..=MOST_OF_HOST)
            .map(|_| paths::allocate(64, BOTH, path))
            .collect::<Result<Vec<_>>>()?;
        let (last, others) = memories.split_last().context("there are some")?;
        let shares: Vec<_> = others.iter().map(|it| it.share_from(&self.worker, path)).collect();
        let mut shared = Vec::new();
        for share in shares {
            shared.push(block_on_for(LIMIT, share)??);
        }
        let refused = last.share_from(&self.worker, path).wait();
        let error = refused.map(drop).err().context("there is one more")?;
        ensure!(error.code() == DocaError::FULL && error.to_string().contains("4096"), "{error}");
        shared.pop().context("there are some")?.unshare().wait()?;
        shared.push(last.share_from(&self.worker, path).wait()?);
        // Ends all shares at once without waiting.
        drop(shared);
        for mut memory in memories {
            let start = Instant::now();
            while memory.try_exclusive_bytes().is_err() {
                ensure!(start.elapsed() < LIMIT, "the end of a share is not told");
                self.plugin.task_process(&self.worker).submit()?.wait()?;
            }
        }
        Ok(())
    }

    /// Another host shares memory and leaves while its command runs.
    fn leave(&self, service: Service) -> Result<()> {
        let other = Reached::new(service, Some(self.worker.id()))?;
        for path in PATHS {
            let (memory, shared) = other.share(path)?;
            let read = other.plugin.task_read(&other.worker, shared.range(), 0, 8);
            if memory.view().get::<[u8; 8]>(0)? != read.submit()?.wait()?.data[..] {
                bail!("another memory was read");
            }
            let churning = other.plugin.task_churn(&other.worker, shared.range(), 1).submit()?;
            drop((churning, shared, memory));
        }
        Ok(())
    }
}

impl Counts {
    fn of(process: impl std::fmt::Display) -> Result<Counts> {
        let maps = fs::read_to_string(format!("/proc/{process}/maps"))?;
        Ok(Counts {
            descriptors: fs::read_dir(format!("/proc/{process}/fd"))?.count(),
            // Other mappings change with the heap.
            mappings: maps.lines().filter(|line| line.contains("urom-memory")).count(),
        })
    }
}
