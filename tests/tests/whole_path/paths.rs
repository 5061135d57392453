//! The paths to a host's memory, and memory for each path.

use anyhow::{Result, ensure};
use urom_host::Worker;
use urom_host::memory::{Access, MemoryPath, MemoryShare, Mmap, Share};

pub(crate) const PATHS: [MemoryPath; 3] =
    [MemoryPath::MAPPED, MemoryPath::PROCESS, MemoryPath::NETWORK];

pub(crate) const BOTH: Access = Access::LOCAL_READ_WRITE.union(Access::PCI_READ_WRITE);

pub(crate) fn allocate(len: usize, access: Access, path: MemoryPath) -> Result<Mmap> {
    Ok(match path {
        MemoryPath::MAPPED => Mmap::allocate(len, access)?,
        _ => Mmap::from_vec(vec![0; len], access)?,
    })
}

pub(crate) fn share(memory: &Mmap, worker: &Worker, path: MemoryPath) -> Result<MemoryShare> {
    let shared = memory.share_from(worker, path).wait()?;
    ensure!(shared.path() == path, "it is {} instead of {}", shared.path().name(), path.name());
    Ok(shared)
}
