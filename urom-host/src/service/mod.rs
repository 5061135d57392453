//! Services, which find plugins and run workers.

mod builder;
mod connection;
pub(crate) mod core;
mod group;
mod handle;
mod query;
mod settings;

pub use builder::ServiceBuilder;
pub use group::{GroupQuery, GroupQueryHandle};
pub use handle::ServiceHandle;

use urom_abi::cpu::CpuSet;
use urom_abi::describe;
use urom_abi::protocol::Protocol;

use crate::domain::DomainBuilder;
use crate::engine::ProgressEngine;
use crate::error::Result;
use crate::host::Host;
use crate::library::Library;
use crate::pending::Pending;
use crate::plugin::Plugin;
use crate::worker::WorkerBuilder;

/// A connected service (`struct doca_urom_service`) with this thread's progress engine.
///
/// The service's own context runs on its own thread, which sleeps except when workers start or stop
/// or a query is made; it needs no progress from the program. The service stays connected until
/// this, every [`ServiceHandle`] and every worker on it are dropped, in any order.
///
/// ```no_run
/// # use urom_host::{Service, Result};
/// # fn main() -> Result<()> {
/// let service = Service::connect_blocking()?;
/// for plugin in service.plugins() {
///     println!("{} version {}", plugin.name(), plugin.version());
/// }
/// let graph = service.plugin::<graph_protocol::Protocol>()?;
/// let worker = service.worker().plugin(&graph).cpus(service.cpus()).start().wait()?;
///
/// // A program with an event loop of its own progresses the engine by hand.
/// let answer = graph.task_loopback(&worker, 42).submit()?;
/// while !answer.is_complete() && service.failure().is_none() {
///     service.progress();
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Threads
/// It belongs to the thread of its engine; [`handle`](Self::handle) is for other threads.
pub struct Service {
    handle: ServiceHandle,
    engine: ProgressEngine,
}

impl Service {
    /// Connects to the service of the environment: this host's daemon in `DOCA_UROM_SERVICE_FILE`,
    /// or without that variable an [embedded](ServiceBuilder::embedded) service. The library comes
    /// from [`Library::find`](crate::Library::find). The future resolves within about 5 s.
    ///
    /// # Errors
    /// As [`ServiceBuilder::connect`].
    pub fn connect() -> Pending<Service> {
        Service::builder().connect()
    }

    /// [`connect`](Self::connect), and blocks until the service has answered.
    ///
    /// # Errors
    /// As [`ServiceBuilder::connect_blocking`].
    pub fn connect_blocking() -> Result<Service> {
        Service::builder().connect_blocking()
    }

    /// A builder, for other settings than in [`connect`](Self::connect).
    pub fn builder() -> ServiceBuilder {
        ServiceBuilder::new()
    }

    /// A builder for a worker on this thread's [`engine`](Self::engine).
    pub fn worker(&self) -> WorkerBuilder {
        self.handle.worker().engine(&self.engine)
    }

    /// A handle for other threads.
    pub fn handle(&self) -> ServiceHandle {
        self.handle.clone()
    }

    /// As [`ServiceHandle::plugins`].
    pub fn plugins(&self) -> &[Plugin] {
        self.handle.plugins()
    }

    /// As [`ServiceHandle::plugin`].
    ///
    /// # Errors
    /// As there.
    pub fn plugin<P: Protocol>(&self) -> Result<P::Client<Host>> {
        self.handle.plugin::<P>()
    }

    /// As [`ServiceHandle::plugin_named`].
    ///
    /// # Errors
    /// As there.
    pub fn plugin_named(&self, name: &str) -> Result<Plugin> {
        self.handle.plugin_named(name)
    }

    /// As [`ServiceHandle::plugin_with`].
    ///
    /// # Errors
    /// As there.
    pub fn plugin_with(&self, name: &str, protocol: &describe::Protocol) -> Result<Plugin> {
        self.handle.plugin_with(name, protocol)
    }

    /// As [`ServiceHandle::cpus`].
    pub fn cpus(&self) -> CpuSet {
        self.handle.cpus()
    }

    /// As [`ServiceHandle::domain`].
    pub fn domain(&self) -> DomainBuilder {
        self.handle.domain()
    }

    /// As [`ServiceHandle::workers_of_group`].
    pub fn workers_of_group(&self, group: u32) -> GroupQuery {
        self.handle.workers_of_group(group)
    }

    /// As [`ServiceHandle::library`].
    pub fn library(&self) -> Library {
        self.handle.library()
    }

    /// As [`ServiceHandle::failure`].
    pub fn failure(&self) -> Option<String> {
        self.handle.failure()
    }

    /// As [`ServiceHandle::late_replies`].
    pub fn late_replies(&self) -> u64 {
        self.handle.late_replies()
    }

    /// As [`ServiceHandle::dropped_replies`].
    pub fn dropped_replies(&self) -> u64 {
        self.handle.dropped_replies()
    }

    /// The engine of [`worker`](Self::worker)'s workers.
    pub fn engine(&self) -> &ProgressEngine {
        &self.engine
    }

    /// Progresses [`engine`](Self::engine) once.
    ///
    /// # Panics
    /// As [`ProgressEngine::progress`].
    pub fn progress(&self) -> bool {
        self.engine.progress()
    }
}

debug_fields!(Service, |it| { plugins: it.plugins() });
