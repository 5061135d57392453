//! The server's memory, and the bytes by which the plugin finds it.

use std::sync::atomic::Ordering;

use anyhow::{Context, Result};
use tracing::warn;
use ucx::Memory;
use urom_host::memory::{Access, MemoryShare, Mmap, Share};
use urom_host::{DocaError, Worker, block_on_for};

use crate::LIMIT;
use crate::server::ADVICE;

pub(crate) enum Queue {
    /// Shared with the worker. This process need not progress for its writes.
    Shared(Mmap, MemoryShare),
    /// Registered with UCX. This process has to progress its UCX worker for the plugin's writes,
    /// unless an RDMA device does them.
    Registered(Memory),
}

impl Queue {
    /// Memory that is shared, or registered with UCX: if `registered` is set, or if library or
    /// service cannot share, as NVIDIA's.
    pub(crate) fn new(
        len: usize,
        worker: &Worker,
        ucx: &ucx::Worker,
        registered: bool,
    ) -> Result<Queue> {
        if !registered {
            let memory = Mmap::allocate(len, Access::LOCAL_READ_WRITE | Access::PCI_READ_WRITE)?;
            match block_on_for(LIMIT, memory.share(worker))? {
                Ok(shared) => return Ok(Queue::Shared(memory, shared)),
                Err(error) if error.code() == DocaError::NOT_SUPPORTED => {}
                Err(error) => return Err(error).context(ADVICE),
            }
        }
        Ok(Queue::Registered(Memory::allocate(ucx.context(), len)?))
    }

    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Queue::Shared(..))
    }

    pub(crate) fn address(&self) -> u64 {
        match self {
            Queue::Shared(memory, _) => memory.address(),
            Queue::Registered(memory) => memory.address(),
        }
    }

    /// The remote key and the exported handle.
    pub(crate) fn packed(&self) -> Result<(Vec<u8>, Vec<u8>)> {
        match self {
            // The plugin needs no key: it finds the memory by the export.
            Queue::Shared(memory, _) => Ok((Vec::new(), memory.export()?)),
            Queue::Registered(memory) => {
                let exported = memory.export();
                match &exported {
                    Ok(memh) => println!("ucp_memh_pack() packed length: {}", memh.len()),
                    Err(_) => warn!("ucp_memh_pack() export is not supported"),
                }
                Ok((memory.remote_key()?, exported.unwrap_or_default()))
            }
        }
    }

    /// Ends the share, and waits until the worker no longer uses the memory.
    pub(crate) fn end(self) -> Result<()> {
        if let Queue::Shared(_, shared) = self {
            block_on_for(LIMIT, shared.unshare())??;
        }
        Ok(())
    }

    /// The word at `offset`. The plugin may change it meanwhile.
    pub(crate) fn get(&self, offset: u64) -> u64 {
        match self {
            Queue::Shared(memory, _) => {
                let word = memory.view().atomic_u64(offset).expect("the queue has this word");
                // Acquire: the data that a pointer covers is visible before the pointer.
                word.load(Ordering::Acquire)
            }
            Queue::Registered(memory) => {
                let mut word = [0; 8];
                memory.read(offset as usize, &mut word);
                u64::from_ne_bytes(word)
            }
        }
    }

    pub(crate) fn set(&self, offset: u64, value: u64) {
        match self {
            Queue::Shared(memory, _) => {
                let word = memory.view().atomic_u64(offset).expect("the queue has this word");
                word.store(value, Ordering::Release);
            }
            Queue::Registered(memory) => memory.write(offset as usize, &value.to_ne_bytes()),
        }
    }
}
