//! Services: what finds plugins and runs workers.

mod builder;
mod connection;
pub(crate) mod core;
mod group;
mod handle;
mod query;
mod settings;

use std::ops::Deref;

use urom_abi::DocaError;
use urom_abi::describe;

pub use builder::ServiceBuilder;
pub use group::{GroupQuery, GroupQueryHandle};
pub use handle::ServiceHandle;

use self::core::ServiceCore;
#[cfg(feature = "builtin")]
use settings::Place;

use crate::engine::ProgressEngine;
use crate::error::{Error, Result};
#[cfg(feature = "builtin")]
use crate::library::SERVICE_FILE;
use crate::plugin::Plugin;
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

impl ServiceCore {
    /// A plugin that speaks `protocol`.
    fn plugin_with(&self, name: &str, protocol: &describe::Protocol) -> Result<Plugin> {
        let version = protocol.version;
        let looking = || format!("looking for plugin `{}` version {version}", name.escape_debug());
        let found = self.plugin_named(name, looking)?;
        let refused = |why| Error::new(DocaError::UNSUPPORTED_VERSION, looking()).why(why);
        if found.version() != version {
            return Err(refused(format!("the service has version {}", found.version()))
                .hint("build host and plugin from the same version of the protocol"));
        }
        // A plugin without a description goes by its version alone.
        if found.fingerprint().is_none_or(|theirs| theirs == protocol.fingerprint()) {
            return Ok(found);
        }
        let description = self.describe(&found);
        let difference = description.ok().and_then(|theirs| protocol.difference(theirs.protocol));
        let why =
            difference.unwrap_or_else(|| "host and plugin lay out messages differently".to_owned());
        Err(refused(why)
            .hint("rebuild the plugin, or raise `version` in the definition that changed"))
    }

    fn plugin_named(&self, name: &str, looking: impl Fn() -> String) -> Result<Plugin> {
        if let Some(found) = self.plugins.iter().find(|plugin| plugin.name() == name) {
            return Ok(*found);
        }
        let names = self.plugins.iter().map(|plugin| format!("`{}`", plugin.name()));
        let mut why = match names.collect::<Vec<_>>() {
            names if names.is_empty() => "the service serves no plugin".to_owned(),
            names => format!("the service has {}", names.join(", ")),
        };
        let mut hint =
            "put its .so, or the directory of that, into the service's UROM_PLUGIN_PATH \
            and connect again; the service's log says which files it found and does not serve, and \
            why: one that is older than its sources has to be built again"
                .to_owned();
        // Cargo's own name for the file.
        let as_built = format!("lib{name}");
        if self.plugins.iter().any(|plugin| plugin.name() == as_built) {
            let link = format!("link or copy the file as `{name}.so` and connect again");
            hint = format!("it was found as `{as_built}`: {link}");
        } else if let Some((reason, what)) = self.not_served(name) {
            (why, hint) = (format!("{why}: {reason}"), what);
        }
        Err(Error::new(DocaError::NOT_FOUND, looking()).why(why).hint(hint))
    }

    /// Why a service in this process does not serve a plugin, and what to do.
    #[cfg(feature = "builtin")]
    fn not_served(&self, name: &str) -> Option<(String, String)> {
        self.library.extensions()?;
        let path = match &self.place {
            Place::Embedded { plugin_path } => plugin_path.as_ref(),
            Place::Environment
                if std::env::var_os(SERVICE_FILE).is_none_or(|file| file.is_empty()) =>
            {
                None
            }
            Place::Environment | Place::Address { .. } => return None,
        };
        Some(urom_service::embedded::not_served(name, path.map(|path| path.as_os_str())))
    }

    /// There is none in this process.
    #[cfg(not(feature = "builtin"))]
    fn not_served(&self, _name: &str) -> Option<(String, String)> {
        None
    }
}
