//! A service for threads other than its own.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use urom_abi::cpu::CpuSet;
use urom_abi::protocol::Protocol;

use crate::domain::DomainBuilder;
use crate::error::Result;
use crate::host::Host;
use crate::library::Library;
use crate::plugin::Plugin;
use crate::service::{GroupQuery, ServiceCore};
use crate::worker::WorkerBuilder;

/// A [`Service`](crate::Service) for any thread: starts workers there, each thread with a progress engine of its own.
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
    pub(super) fn new(core: &Arc<ServiceCore>) -> ServiceHandle {
        ServiceHandle { core: Arc::clone(core) }
    }

    /// As [`Service::plugins`](crate::Service::plugins).
    ///
    /// ```
    /// # use urom_host::{ServiceHandle, Worker, Result};
    /// /// A worker with every plugin there is.
    /// fn start(handle: &ServiceHandle) -> Result<Worker> {
    ///     let mut worker = handle.worker();
    ///     for plugin in handle.plugins() {
    ///         worker = worker.plugin(plugin);
    ///     }
    ///     worker.start().wait()
    /// }
    /// ```
    pub fn plugins(&self) -> &[Plugin] {
        self.core.plugins()
    }

    /// As [`Service::plugin`](crate::Service::plugin).
    ///
    /// # Errors
    /// As there.
    pub fn plugin<P: Protocol>(&self) -> Result<P::Client<Host>> {
        self.core.plugin::<P>()
    }

    /// As [`Service::plugin_named`](crate::Service::plugin_named).
    ///
    /// # Errors
    /// As there.
    ///
    /// ```no_run
    /// # use urom_host::{ServiceHandle, Result};
    /// # fn example(handle: &ServiceHandle) -> Result<()> {
    /// println!("version {}", handle.plugin_named("worker_graph")?.version());
    /// # Ok(())
    /// # }
    /// ```
    pub fn plugin_named(&self, name: &str) -> Result<Plugin> {
        self.core.plugin_named(name, || format!("looking for plugin `{}`", name.escape_debug()))
    }

    /// As [`Service::cpus`](crate::Service::cpus).
    ///
    /// ```no_run
    /// # fn example(handle: &urom_host::ServiceHandle) {
    /// println!("workers may use {} CPUs", handle.cpus().iter().count());
    /// # }
    /// ```
    pub fn cpus(&self) -> CpuSet {
        self.core.cpus()
    }

    /// A worker to be put together and started on this thread; without [`WorkerBuilder::engine`], it gets a progress
    /// engine of its own.
    pub fn worker(&self) -> WorkerBuilder {
        WorkerBuilder::new(Arc::clone(&self.core), None)
    }

    /// As [`Service::domain`](crate::Service::domain).
    ///
    /// ```no_run
    /// use urom_host::gather::InProcess;
    /// # use urom_host::{ServiceHandle, Worker, Result};
    /// # fn example(handle: &ServiceHandle, worker: &Worker) -> Result<()> {
    /// let domain = handle.domain().worker(0, worker).gather(InProcess::alone()).start().wait()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn domain(&self) -> DomainBuilder {
        DomainBuilder::new(self.library())
    }

    /// As [`Service::workers_of_group`](crate::Service::workers_of_group).
    ///
    /// ```no_run
    /// # async fn example(handle: &urom_host::ServiceHandle) -> urom_host::Result<()> {
    /// println!("{:?}", handle.workers_of_group(1).await?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn workers_of_group(&self, group: u32) -> GroupQuery {
        GroupQuery::submit(&self.core, group)
    }

    /// As [`Service::late_answers`](crate::Service::late_answers).
    ///
    /// ```no_run
    /// # fn example(handle: &urom_host::ServiceHandle) {
    /// println!("{} answers came too late", handle.late_answers());
    /// # }
    /// ```
    pub fn late_answers(&self) -> u64 {
        self.core.counts().late.load(Ordering::Relaxed)
    }

    /// As [`Service::dropped_answers`](crate::Service::dropped_answers).
    ///
    /// ```no_run
    /// # fn example(handle: &urom_host::ServiceHandle) {
    /// println!("nobody waited any more for {} answers", handle.dropped_answers());
    /// # }
    /// ```
    pub fn dropped_answers(&self) -> u64 {
        self.core.counts().dropped.load(Ordering::Relaxed)
    }

    /// The library it belongs to.
    pub fn library(&self) -> Library {
        self.core.library()
    }
}

impl fmt::Debug for ServiceHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceHandle").field("plugins", &self.plugins()).finish_non_exhaustive()
    }
}
