//! Services: what finds plugins and runs workers.

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

/// A connected service (`struct doca_urom_service`).
///
/// It has a progress engine for the workers that this thread starts on it. The service's own
/// context needs no progress from the program: it has a thread of its own, which sleeps except when
/// workers start or stop or a query is asked.
///
/// The service stays connected until this, every [`ServiceHandle`] and every worker on it are gone,
/// in whatever order that happens.
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
/// It belongs to its thread, as its engine does; [`handle`](Self::handle) is for the others. What
/// needs no engine is in [`ServiceHandle`], which a service derefs to.
pub struct Service {
    handle: ServiceHandle,
    engine: ProgressEngine,
}

impl Service {
    /// Connects to the service that the environment names: the daemon that `DOCA_UROM_SERVICE_FILE`
    /// has for this host, or without that variable an [embedded](ServiceBuilder::embedded) service.
    /// The library is the one that [`Library::find`](crate::Library::find) finds.
    ///
    /// # Errors
    /// As [`ServiceBuilder::connect`].
    pub fn connect() -> Result<Service> {
        Service::builder().connect()
    }

    /// For settings beyond those of [`connect`](Self::connect).
    pub fn builder() -> ServiceBuilder {
        ServiceBuilder::new()
    }

    /// Begins to put a worker together, on this thread's [`engine`](Self::engine).
    pub fn worker(&self) -> WorkerBuilder {
        self.handle.worker().engine(&self.engine)
    }

    /// A handle for other threads.
    pub fn handle(&self) -> ServiceHandle {
        self.handle.clone()
    }

    /// The engine of the workers that [`worker`](Self::worker) starts.
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
