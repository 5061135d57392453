//! Services, which find plugins and run workers.

mod builder;
mod connection;
pub(crate) mod core;
mod group;
mod handle;
mod query;
mod settings;

use std::ops::Deref;

pub use builder::ServiceBuilder;
pub use group::{GroupQuery, GroupQueryHandle};
pub use handle::ServiceHandle;

use crate::engine::ProgressEngine;
use crate::error::Result;
use crate::worker::WorkerBuilder;

/// A connected service (`struct doca_urom_service`) with a progress engine for this thread's
/// workers.
///
/// The service's own context runs on its own thread, which sleeps except when workers start or stop
/// or a query is made; it needs no progress from the program. The service stays connected until
/// this, every [`ServiceHandle`] and every worker on it are dropped, in any order.
///
/// ```no_run
/// # use urom_host::{Service, Result};
/// # fn main() -> Result<()> {
/// let service = Service::connect()?;
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
/// It belongs to the thread of its engine; [`handle`](Self::handle) is for other threads. Functions
/// without an engine are in [`ServiceHandle`], which a service derefs to.
pub struct Service {
    handle: ServiceHandle,
    engine: ProgressEngine,
}

impl Service {
    /// Connects to the service of the environment: this host's daemon in `DOCA_UROM_SERVICE_FILE`,
    /// or without that variable an [embedded](ServiceBuilder::embedded) service. The library comes
    /// from [`Library::find`](crate::Library::find).
    ///
    /// # Errors
    /// As [`ServiceBuilder::connect`].
    pub fn connect() -> Result<Service> {
        Service::builder().connect()
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

impl Deref for Service {
    type Target = ServiceHandle;

    fn deref(&self) -> &ServiceHandle {
        &self.handle
    }
}

debug_fields!(Service, |it| { plugins: it.plugins() });
