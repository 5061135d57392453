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

    /// The plugins that the service found when it was connected to
    /// (`doca_urom_service_get_plugins_list`); none is an empty list.
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

    /// The client for a plugin, found by its exact name.
    ///
    /// # Errors
    /// `NOT_FOUND` when the service has none of that name. `UNSUPPORTED_VERSION` when it has
    /// another version of it, or a build whose messages have another layout; the text names the
    /// first difference. NVIDIA's service knows only versions, and a plugin in C has no
    /// description: the version alone counts there.
    pub fn plugin<P: Protocol>(&self) -> Result<P::Client<Host>> {
        Ok(P::client::<Host>(self.core.plugin_with(P::NAME, P::DESCRIPTION)?))
    }

    /// A plugin of whatever protocol, found by its exact name: for tools, and for plugins whose
    /// protocol is stated nowhere. [`Worker::task`](crate::Worker::task) takes its commands as
    /// bytes.
    ///
    /// ```no_run
    /// # use urom_host::{Service, Result};
    /// # fn main() -> Result<()> {
    /// let service = Service::connect()?;
    /// let plugin = service.plugin_named("worker_graph")?;
    /// let worker = service.worker().plugin(plugin).start().wait()?;
    /// let answer = worker.command(plugin, &[0; 16])?.wait()?;
    /// println!("{}: {:?}", answer.status, answer.bytes);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `NOT_FOUND` when the service has none of that name.
    pub fn plugin_named(&self, name: &str) -> Result<Plugin> {
        self.core.plugin_named(name, || format!("looking for plugin `{}`", name.escape_debug()))
    }

    /// The same, when the plugin speaks `protocol`, which a program read from a description: for
    /// tools. [`plugin`](Self::plugin) is this for a protocol that the program was built with.
    ///
    /// ```no_run
    /// # use urom_host::{Service, Result};
    /// # fn example(service: &Service, file: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
    /// use urom_abi::describe::section;
    ///
    /// let description = section::read(file)?;
    /// let plugin = service.plugin_with("worker_graph", description.protocol)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`plugin`](Self::plugin).
    pub fn plugin_with(&self, name: &str, protocol: &describe::Protocol) -> Result<Plugin> {
        self.core.plugin_with(name, protocol)
    }

    /// The CPUs workers may be given (`doca_urom_service_get_cpuset`).
    ///
    /// ```no_run
    /// # fn example(handle: &urom_host::ServiceHandle) {
    /// println!("workers may use {} CPUs", handle.cpus().iter().count());
    /// # }
    /// ```
    pub fn cpus(&self) -> CpuSet {
        self.core.cpus()
    }

    /// A worker to be put together and started on this thread; without [`WorkerBuilder::engine`],
    /// it gets a progress engine of its own.
    pub fn worker(&self) -> WorkerBuilder {
        WorkerBuilder::new(Arc::clone(&self.core))
    }

    /// A domain to be put together of workers of this thread.
    ///
    /// ```no_run
    /// use urom_host::gather::InProcess;
    /// # use urom_host::{Service, Worker, Result};
    /// # fn example(service: &Service, worker: &Worker) -> Result<()> {
    /// let domain = service.domain().worker(0, worker).gather(InProcess::alone()).start().wait()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn domain(&self) -> DomainBuilder {
        DomainBuilder::new(self.library())
    }

    /// Asks for the ids of all workers of a group (`doca_urom_service_get_workers_by_gid_task`), in
    /// rising order.
    ///
    /// ```no_run
    /// # fn example(service: &urom_host::Service) -> urom_host::Result<()> {
    /// let ids: Vec<u64> = service.workers_of_group(1).wait()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The future resolves to what went wrong; a group nobody is in has no workers, and that is no
    /// error.
    pub fn workers_of_group(&self, group: u32) -> GroupQuery {
        GroupQuery::submit(&self.core, group)
    }

    /// How many answers came to [group queries](GroupQuery) that had passed their deadline or were
    /// cancelled, since it was connected to. They were thrown away; nobody got them. Queries that
    /// ended with their service are not counted.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use urom_host::{DocaError, Service, Result};
    /// # fn example(service: &Service) -> Result<()> {
    /// let answer = service.workers_of_group(1).deadline(Duration::from_millis(1)).wait();
    /// if answer.is_err_and(|error| error.code() == DocaError::TIME_OUT) {
    ///     println!("{} answers came too late so far", service.late_answers());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn late_answers(&self) -> u64 {
        self.core.counts().late.load(Ordering::Relaxed)
    }

    /// How many answers came to group queries whose future had been dropped before. Otherwise as
    /// [`late_answers`](Self::late_answers).
    ///
    /// ```no_run
    /// # fn example(service: &urom_host::Service) -> urom_host::Result<()> {
    /// drop(service.workers_of_group(1));
    /// service.workers_of_group(1).wait()?;
    /// // A question that was dropped before it left is never sent.
    /// assert!(service.dropped_answers() <= 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn dropped_answers(&self) -> u64 {
        self.core.counts().dropped.load(Ordering::Relaxed)
    }

    /// The library it belongs to.
    ///
    /// ```no_run
    /// # use urom_host::{ProgressEngine, Service, Result};
    /// # fn example(service: &Service) -> Result<()> {
    /// let engine = ProgressEngine::with_library(service.library())?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn library(&self) -> Library {
        self.core.library()
    }

    /// Why the service's link failed, in the library's words; `None` while it did not.
    ///
    /// ```no_run
    /// # fn example(handle: &urom_host::ServiceHandle) {
    /// if let Some(why) = handle.failure() {
    ///     println!("the service is gone: {why}");
    /// }
    /// # }
    /// ```
    pub fn failure(&self) -> Option<String> {
        self.core.failure()
    }
}

debug_fields!(ServiceHandle, |it| { plugins: it.plugins() });
