//! Domains.

mod builder;
mod context;
mod exchange;

pub use builder::DomainBuilder;

use context::Owner;

use crate::context::ContextState;
use crate::engine::ProgressEngine;
use crate::error::Result;
use crate::owner::LEAVE_LIMIT;
use crate::pending::Pending;
use crate::wait;

/// Memory that the workers of a domain may access (`doca_urom_domain_add_buffer`).
///
/// The domain distributes the address and the packed handles; it does not access the memory. The
/// program must keep the memory registered while workers may use it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DomainBuffer {
    /// The start address.
    pub address: u64,
    /// Its length in bytes.
    pub length: usize,
    /// The packed memory handle (`memh`, from `ucp_memh_pack`), or empty.
    pub memory_handle: Vec<u8>,
    /// The packed remote key (`mkey`, from `ucp_rkey_pack`), or empty.
    pub key: Vec<u8>,
}

/// The former name of [`DomainBuffer`].
#[deprecated(note = "renamed to `DomainBuffer`; `memory::Buffer` is another type")]
pub type Buffer = DomainBuffer;

/// A running domain (`struct doca_urom_domain`): a group of workers of several processes.
///
/// A domain is to workers what a communicator is to MPI processes. Every process of an application
/// adds its workers, each under an id of the application's choice (usually a rank), and its
/// [buffers](DomainBuffer). While the domain starts, the processes exchange these through an
/// [`AllGather`](crate::gather::AllGather). Once the domain runs, plugins on the workers look up
/// addresses, memory handles and keys by those ids. With this project's service a domain runs in
/// all processes or in none: errors elsewhere name the process of a failed worker.
///
/// [`DomainBuilder::start`] starts a domain, in all processes at the same time:
///
/// ```no_run
/// use std::time::Duration;
/// use urom_host::gather::Rendezvous;
/// use urom_host::{Service, block_on};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let (rank, size) = (0, 2);
/// let gather = Rendezvous::join("head-node:7357", rank, size, Duration::from_secs(60))?;
/// block_on(async {
///     let service = Service::connect().await?;
///     let graph = service.plugin::<graph_protocol::Protocol>()?;
///     let worker = service.worker().id(rank.into()).plugin(&graph).start().await?;
///     let domain = service.domain().worker(rank.into(), &worker).gather(gather).start().await?;
///     // Commands to `worker` may name any worker of the domain now.
///     println!("process {} of {}", domain.index(), domain.participants());
///     domain.stop().await?;
///     worker.stop().await
/// })?;
/// # Ok(())
/// # }
/// ```
///
/// A domain keeps its workers, and dropping it stops it. Several domains may share workers.
///
/// # Threads
/// It belongs to the thread of its progress engine, like its workers.
pub struct Domain {
    owner: Owner,
}

impl Domain {
    /// The number of participating processes.
    pub fn participants(&self) -> u32 {
        self.owner.exchange.participants
    }

    /// The index of this process, from 0.
    pub fn index(&self) -> u32 {
        self.owner.exchange.index
    }

    /// The ids of this process's workers in the domain, in the order they were added.
    pub fn ids(&self) -> impl Iterator<Item = u64> {
        self.owner.workers.iter().map(|(id, _)| *id)
    }

    /// The state (`doca_ctx_get_state`). It stays `Running` when a worker has ended.
    ///
    /// # Errors
    /// The library's errors.
    pub fn state(&self) -> Result<ContextState> {
        Ok(self.owner.state()?.into())
    }

    /// The domain's engine.
    pub fn engine(&self) -> &ProgressEngine {
        &self.owner.engine
    }

    /// Stops the domain (`doca_ctx_stop`) in this process only: its workers forget it, other
    /// processes' workers keep their data. Stopping begins at once; the future resolves when idle.
    ///
    /// # Errors
    /// The future resolves to the library's error if it refuses to stop the domain.
    pub fn stop(self) -> Pending<()> {
        let begun = self.owner.stop();
        Pending::new(async move {
            begun?;
            self.owner.idle().await
        })
    }

    /// [`stop`](Self::stop), and blocks until the domain is idle, at most 10 s.
    ///
    /// # Errors
    /// As [`stop`](Self::stop); `TIME_OUT`; `BAD_STATE` inside a completion callback.
    pub fn stop_blocking(self) -> Result<()> {
        let stopping = self.stop();
        wait::allowed()?;
        wait::block_on_for(LEAVE_LIMIT, stopping)?
    }
}

debug_fields!(Domain, |it| {
    index: it.index(),
    participants: it.participants(),
    ids: it.ids().collect::<Vec<_>>(),
    state: it.state()
});
