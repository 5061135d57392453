//! Services: what finds plugins and runs workers.

mod actor;
mod builder;
mod group;
mod handle;
mod question;
mod session;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use urom_abi::DocaError;
use urom_abi::cpu::CpuSet;
use urom_abi::describe;
use urom_abi::protocol::Protocol;

pub use builder::ServiceBuilder;
pub use group::{GroupQuery, GroupQueryHandle};
pub use handle::ServiceHandle;

pub(crate) use actor::ServiceCore;
#[cfg(feature = "builtin")]
use builder::Place;

use crate::domain::DomainBuilder;
use crate::engine::ProgressEngine;
use crate::error::{Error, Result};
use crate::host::Host;
use crate::library::Library;
#[cfg(feature = "builtin")]
use crate::library::SERVICE_FILE;
use crate::plugin::Plugin;
use crate::worker::WorkerBuilder;

/// A connected service (`struct doca_urom_service`).
///
/// It comes with a progress engine for the workers that this thread starts on it. The service's own context needs no
/// progress from the program: it lives on a thread of its own, which sleeps unless workers start, stop or are asked for.
///
/// The service stays connected until this, every [`ServiceHandle`] and every worker on it are gone, in whatever order
/// that happens.
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
/// It belongs to its thread, as its engine does; [`handle`](Self::handle) is for the others.
///
/// ```compile_fail,E0277
/// fn assert_send<T: Send>() {}
/// assert_send::<urom_host::Service>();
/// ```
pub struct Service {
    core: Arc<ServiceCore>,
    engine: ProgressEngine,
}

impl Service {
    /// Connects to the service that the environment names: the daemon that `DOCA_UROM_SERVICE_FILE` has for this host,
    /// or, without that variable, the embedded service, which runs in this process and finds plugins in
    /// `UROM_PLUGIN_PATH`, or beside the program (see [`ServiceBuilder::embedded`]). The library is the one that [`Library::find`] finds.
    ///
    /// # Errors
    /// As [`ServiceBuilder::connect`].
    pub fn connect() -> Result<Service> {
        Service::builder().connect()
    }

    /// Sets more before it connects.
    ///
    /// ```no_run
    /// # use urom_host::{Service, Result};
    /// # fn main() -> Result<()> {
    /// let service = Service::builder().plugin_path("target/debug").connect()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder() -> ServiceBuilder {
        ServiceBuilder::new()
    }

    /// The plugins that the service found when it was connected to (`doca_urom_service_get_plugins_list`); none is an
    /// empty list.
    pub fn plugins(&self) -> &[Plugin] {
        self.core.plugins()
    }

    /// The client for a plugin, found by its exact name.
    ///
    /// # Errors
    /// `NOT_FOUND` when the service has none of that name. `UNSUPPORTED_VERSION` when it has another version of it, or a
    /// build whose messages have another layout; the text names the first difference. NVIDIA's service knows only
    /// versions, and a plugin in C has no description: the version alone counts there.
    pub fn plugin<P: Protocol>(&self) -> Result<P::Client<Host>> {
        self.core.plugin::<P>()
    }

    /// A plugin of whatever protocol, found by its exact name: for tools, and for plugins whose protocol is stated nowhere.
    /// [`Worker::task`](crate::Worker::task) takes its commands as bytes.
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

    /// The same, when the plugin speaks `protocol`, which a program read from a description: for tools.
    /// [`plugin`](Self::plugin) is this for a protocol that the program was built with.
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
    pub fn cpus(&self) -> CpuSet {
        self.core.cpus()
    }

    /// A worker to be put together and started on this thread's [`engine`](Self::engine).
    pub fn worker(&self) -> WorkerBuilder {
        WorkerBuilder::new(Arc::clone(&self.core), Some(self.engine.clone()))
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

    /// Asks for the ids of all workers of a group (`doca_urom_service_get_workers_by_gid_task`), in rising order.
    ///
    /// ```no_run
    /// # fn example(service: &urom_host::Service) -> urom_host::Result<()> {
    /// let ids: Vec<u64> = service.workers_of_group(1).wait()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The future resolves to what went wrong; a group nobody is in has no workers, and that is no error.
    pub fn workers_of_group(&self, group: u32) -> GroupQuery {
        GroupQuery::submit(&self.core, group)
    }

    /// For other threads.
    ///
    /// ```no_run
    /// # fn example(service: &urom_host::Service) {
    /// let handle = service.handle();
    /// std::thread::spawn(move || println!("{} plugins", handle.plugins().len()));
    /// # }
    /// ```
    pub fn handle(&self) -> ServiceHandle {
        ServiceHandle::new(&self.core)
    }

    /// How many answers came to [group queries](GroupQuery) that had passed their deadline or were cancelled, since it was
    /// connected to. They were thrown away; nobody got them. Queries that ended with their service are not counted.
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

    /// The engine of the workers that [`worker`](Self::worker) starts.
    ///
    /// ```no_run
    /// # use urom_host::{Service, Result};
    /// # fn example(service: &Service) -> Result<()> {
    /// // A second service whose workers move together with the first one's.
    /// let other = Service::builder().address("dpu1:5555").engine(service.engine()).connect()?;
    /// # Ok(())
    /// # }
    /// ```
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
    pub fn failure(&self) -> Option<String> {
        self.core.failure()
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("plugins", &self.plugins()).finish_non_exhaustive()
    }
}

impl ServiceCore {
    fn plugin<P: Protocol>(&self) -> Result<P::Client<Host>> {
        Ok(P::client::<Host>(self.plugin_with(P::NAME, P::DESCRIPTION)?))
    }

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
        if let Some(found) = self.plugins().iter().find(|plugin| plugin.name() == name) {
            return Ok(*found);
        }
        let names: Vec<_> =
            self.plugins().iter().map(|plugin| format!("`{}`", plugin.name())).collect();
        let why = match names.is_empty() {
            true => "the service serves no plugin".to_owned(),
            false => format!("the service has {}", names.join(", ")),
        };
        let failed =
            |why, hint| Err(Error::new(DocaError::NOT_FOUND, looking()).why(why).hint(hint));
        // Cargo's own name for the file.
        let as_built = format!("lib{name}");
        if self.plugins().iter().any(|plugin| plugin.name() == as_built) {
            let link = format!("link or copy the file as `{name}.so` and connect again");
            return failed(why, format!("it was found as `{as_built}`: {link}"));
        }
        if let Some((reason, hint)) = self.not_served(name) {
            return failed(format!("{why}: {reason}"), hint);
        }
        let put = "put its .so, or the directory of that, into the service's UROM_PLUGIN_PATH and connect \
                   again; the service's log says which files it found and does not serve, and why: one that is older \
                   than its sources has to be built again";
        failed(why, put.to_owned())
    }

    /// Why a service in this process does not serve a plugin, and what to do.
    #[cfg(feature = "builtin")]
    fn not_served(&self, name: &str) -> Option<(String, String)> {
        self.library().extensions()?;
        let path = match self.place() {
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
