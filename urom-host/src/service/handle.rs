//! A service for any thread: everything but a progress engine.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use urom_abi::cpu::CpuSet;
use urom_abi::describe;
use urom_abi::protocol::Protocol;

use crate::domain::DomainBuilder;
use crate::error::Result;
use crate::host::Host;
use crate::library::Library;
use crate::plugin::Plugin;
use crate::service::core::ServiceCore;
use crate::service::group::GroupQuery;
use crate::worker::WorkerBuilder;

/// A connected service (`struct doca_urom_service`) for any thread: starts workers there, each
/// thread with a progress engine of its own.
///
/// [`Service::handle`](crate::Service::handle) makes one. A [`Service`](crate::Service) derefs to
/// its handle, so it has all methods of this.
///
/// ```no_run
/// # use urom_host::{ProgressEngine, Service, Result};
/// # fn main() -> Result<()> {
/// let service = Service::connect()?;
/// let threads = (0..4).map(|id| {
///     let handle = service.handle();
///     std::thread::spawn(move || -> Result<u64> {
///         let graph = handle.plugin::<graph_protocol::Protocol>()?;
///         let engine = ProgressEngine::with_library(handle.library())?;
///         let worker = handle.worker().engine(&engine).id(id).plugin(&graph).start().wait()?;
///         Ok(graph.task_loopback(&worker, id).submit()?.wait()?.data)
///     })
/// });
/// for thread in threads.collect::<Vec<_>>() {
///     thread.join().unwrap()?;
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ServiceHandle {
    core: Arc<ServiceCore>,
}

impl ServiceHandle {
    pub(super) fn new(core: ServiceCore) -> ServiceHandle {
        ServiceHandle { core: Arc::new(core) }
    }

    /// The plugins that the service had when the program connected
    /// (`doca_urom_service_get_plugins_list`). The list may be empty.
    pub fn plugins(&self) -> &[Plugin] {
        &self.core.plugins
    }

    /// The client for a plugin, found by its exact name.
    ///
    /// # Errors
    /// `NOT_FOUND` when the service has no plugin of that name. `UNSUPPORTED_VERSION` when it has
    /// another version, or a build whose messages have another layout; the text names the first
    /// difference. Where there is no description to compare (NVIDIA's service, plugins in C), the
    /// version alone counts.
    pub fn plugin<P: Protocol>(&self) -> Result<P::Client<Host>> {
        Ok(P::client::<Host>(self.core.plugin_with(P::NAME, P::DESCRIPTION)?))
    }

    /// A plugin of any protocol, found by its exact name: for tools.
    /// [`Worker::task`](crate::Worker::task) takes its commands as bytes.
    ///
    /// # Errors
    /// `NOT_FOUND` when the service has no plugin of that name.
    pub fn plugin_named(&self, name: &str) -> Result<Plugin> {
        self.core.plugin_named(name, || format!("looking for plugin `{}`", name.escape_debug()))
    }

    /// A plugin that speaks `protocol`, which the program has read from a description: for tools.
    ///
    /// # Errors
    /// As [`plugin`](Self::plugin).
    pub fn plugin_with(&self, name: &str, protocol: &describe::Protocol) -> Result<Plugin> {
        self.core.plugin_with(name, protocol)
    }

    /// The CPUs that workers may use (`doca_urom_service_get_cpuset`).
    pub fn cpus(&self) -> CpuSet {
        self.core.cpus
    }

    /// Begins to put a worker of this thread together. Without [`WorkerBuilder::engine`] it gets a
    /// progress engine of its own.
    pub fn worker(&self) -> WorkerBuilder {
        WorkerBuilder::new(Arc::clone(&self.core))
    }

    /// Begins to put a domain of this thread's workers together.
    pub fn domain(&self) -> DomainBuilder {
        DomainBuilder::new(self.library())
    }

    /// Asks for the ids of all workers of a group (`doca_urom_service_get_workers_by_gid_task`), in
    /// rising order. An unknown group has no workers; that is no error.
    pub fn workers_of_group(&self, group: u32) -> GroupQuery {
        GroupQuery::submit(&self.core, group)
    }

    /// How many answers came to [group queries](GroupQuery) after their deadline or after they were
    /// cancelled, and were thrown away. Queries that ended with their service are not counted.
    pub fn late_answers(&self) -> u64 {
        self.core.counts.late.load(Ordering::Relaxed)
    }

    /// How many answers came to group queries whose future had been dropped, and were thrown away.
    pub fn dropped_answers(&self) -> u64 {
        self.core.counts.dropped.load(Ordering::Relaxed)
    }

    /// The library it belongs to.
    pub fn library(&self) -> Library {
        self.core.library
    }

    /// Why the link to the service failed, in the library's words; `None` while it works.
    pub fn failure(&self) -> Option<String> {
        self.core.failure()
    }
}

debug_fields!(ServiceHandle, |it| { plugins: it.plugins() });
