//! The server's memory, and its descriptions for the plugin.

use std::sync::atomic::Ordering;

use anyhow::{Context, Result};
use tracing::warn;
use ucx::Memory;
use urom_host::memory::{Access, MemoryShare, Mmap, Share};
use urom_host::{DocaError, Worker, block_on_for};

use crate::LIMIT;
use crate::server::ADVICE;

pub(crate) enum Queue {
    /// Shared with the worker. The worker's writes do not need progress of this process.
    Shared(Mmap, MemoryShare),
    /// Registered with UCX. Without an RDMA device, this process must progress its UCX worker.
    Registered(Memory),
}

impl Queue {
    /// Allocates shared memory, or registered memory if requested or sharing is not supported.
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

    pub(crate) fn packed(&self) -> Result<(Vec<u8>, Vec<u8>)> {
        match self {
            // The plugin finds shared memory by the export, without a key.
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

    pub(crate) fn end(self) -> Result<()> {
        if let Queue::Shared(_, shared) = self {
            block_on_for(LIMIT, shared.unshare())??;
        }
        Ok(())
    }

    /// Returns the word at `offset`, which the plugin may change concurrently.
    pub(crate) fn get(&self, offset: u64) -> u64 {
        match self {
            Queue::Shared(memory, _) => {
                let word = memory.view().atomic_u64(offset).expect("the queue has this word");
                // Acquire: the data of a pointer is visible before the pointer.
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
