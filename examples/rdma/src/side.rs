//! This process's worker, RDMA instance and memory.

use anyhow::{Context, Result};
use rdma_host::{Rdma, RemoteMmap};
use urom_host::memory::{Access, Mmap};
use urom_host::{Service, Worker, block_on_for};

use crate::LIMIT;
use crate::options::Options;
use crate::other::Other;

/// Size of each side's memory.
pub(crate) const MEMORY: usize = 16 << 20;

pub(crate) struct Side {
    pub(crate) rdma: Rdma,
    pub(crate) memory: Mmap,
    pub(crate) remote: RemoteMmap,
    _worker: Worker,
    _service: Service,
}

impl Side {
    pub(crate) fn start(options: &Options, other: &Other) -> Result<Side> {
        let service = options.common.service().connect_blocking()?;
        let plugin = service.plugin::<rdma_host::Protocol>()?;
        let worker = options.common.worker_log(service.worker().max_inflight(512).plugin(&plugin));
        let worker = block_on_for(LIMIT, worker.start())?.context("the worker did not start")?;

        let all = Access::RDMA_READ | Access::RDMA_WRITE | Access::RDMA_ATOMIC;
        let memory = Mmap::allocate(MEMORY, Access::LOCAL_READ_WRITE | all)?;
        let (rdma, details, exported) = block_on_for(LIMIT, async {
            let rdma = Rdma::builder(&worker).permissions(all).start().await?;
            let (details, exported) = (rdma.export().await?, rdma.export_mmap(&memory).await?);
            Ok::<_, urom_host::Error>((rdma, details, exported))
        })??;
        let (theirs, their_memory) = (other.swap(&details)?, other.swap(&exported)?);
        block_on_for(LIMIT, rdma.connect(&theirs))??;
        let remote = block_on_for(LIMIT, RemoteMmap::import(&rdma, &their_memory))??;
        Ok(Side { rdma, memory, remote, _worker: worker, _service: service })
    }
}
