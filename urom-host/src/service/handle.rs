//! A service handle for any thread, without a progress engine.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use urom_abi::cpu::CpuSet;
use urom_abi::protocol::Protocol;
use urom_abi::{DocaError, describe};

use crate::domain::DomainBuilder;
use crate::error::{Error, Result};
use crate::host::Host;
use crate::library::Library;
#[cfg(feature = "embedded")]
use crate::library::SERVICE_FILE;
use crate::plugin::Plugin;
use crate::service::core::ServiceCore;
use crate::service::group::GroupQuery;
#[cfg(feature = "embedded")]
use crate::service::settings::{ServiceSource, joined};
use crate::worker::WorkerBuilder;

/// A connected service (`struct doca_urom_service`) for any thread, to start workers there. Each
/// thread has its own progress engine.
///
/// [`Service::handle`](crate::Service::handle) makes one.
///
/// ```no_run
/// # use urom_host::{Service, Result};
/// # fn main() -> Result<()> {
/// let service = Service::connect_blocking()?;
/// let threads = (0..4).map(|id| {
///     let handle = service.handle();
///     std::thread::spawn(move || -> Result<u64> {
///         let graph = handle.plugin::<graph_protocol::Protocol>()?;
///         let worker = handle.worker().id(id).plugin(&graph).start().wait()?;
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
    pub(crate) fn of(core: Arc<ServiceCore>) -> ServiceHandle {
        ServiceHandle { core }
    }

    /// The service's plugins at the connection (`doca_urom_service_get_plugins_list`).
    pub fn plugins(&self) -> &[Plugin] {
        &self.core.plugins
    }

    /// The client for a plugin, found by its exact name.
    ///
    /// # Errors
    /// `NOT_FOUND` when the service lacks a plugin with that name. `UNSUPPORTED_VERSION` for
    /// another version, or a build with other message layouts; the text names the first difference.
    /// Without a description (NVIDIA's service, plugins in C), only the version is compared.
    pub fn plugin<P: Protocol>(&self) -> Result<P::Client<Host>> {
        Ok(P::client::<Host>(self.plugin_with(P::NAME, P::DESCRIPTION)?))
    }

    /// A plugin of any protocol, found by its exact name, for tools.
    /// [`Worker::task`](crate::Worker::task) takes its commands as bytes.
    ///
    /// # Errors
    /// `NOT_FOUND` when the service lacks a plugin with that name.
    pub fn plugin_named(&self, name: &str) -> Result<Plugin> {
        self.find(name, || format!("looking for plugin `{}`", name.escape_debug()))
    }

    /// A plugin of `protocol`, which the program has read from a description, for tools.
    ///
    /// # Errors
    /// As [`plugin`](Self::plugin).
    pub fn plugin_with(&self, name: &str, protocol: &describe::Protocol) -> Result<Plugin> {
        let version = protocol.version;
        let looking = || format!("looking for plugin `{}` version {version}", name.escape_debug());
        let found = self.find(name, looking)?;
        let refused = |why| Error::new(DocaError::UNSUPPORTED_VERSION, looking()).why(why);
        if found.version() != version {
            return Err(refused(format!("the service has version {}", found.version()))
                .hint("build host and plugin from the same version of the protocol"));
        }
        // Without a description only the version is compared.
        if found.fingerprint().is_none_or(|theirs| theirs == protocol.fingerprint()) {
            return Ok(found);
        }
        let description = self.core.describe(&found);
        let difference = description.ok().and_then(|theirs| protocol.difference(theirs.protocol));
        let why =
            difference.unwrap_or_else(|| "host and plugin lay out messages differently".to_owned());
        Err(refused(why)
            .hint("rebuild host and plugin from one definition, or raise `version` in the changed definition"))
    }

    /// The CPUs that workers may use (`doca_urom_service_get_cpuset`).
    pub fn cpus(&self) -> CpuSet {
        self.core.cpus
    }

    /// A builder for a worker of this thread, with a new engine without [`WorkerBuilder::engine`].
    pub fn worker(&self) -> WorkerBuilder {
        WorkerBuilder::new(Arc::clone(&self.core))
    }

    /// A builder for a domain of this thread's workers.
    pub fn domain(&self) -> DomainBuilder {
        DomainBuilder::new(self.library())
    }

    /// Queries the ids of a group's workers (`doca_urom_service_get_workers_by_gid_task`),
    /// ascending. The list of an unknown group is empty.
    pub fn workers_of_group(&self, group: u32) -> GroupQuery {
        GroupQuery::submit(&self.core, group)
    }

    /// The number of discarded replies that arrived after a [group query](GroupQuery)'s deadline or
    /// cancel. Queries that ended with their service are not counted.
    pub fn late_replies(&self) -> u64 {
        self.core.counts.late.load(Ordering::Relaxed)
    }

    /// The number of discarded replies to group queries whose future had been dropped.
    pub fn dropped_replies(&self) -> u64 {
        self.core.counts.dropped.load(Ordering::Relaxed)
    }

    /// The service's library.
    pub fn library(&self) -> Library {
        self.core.library
    }

    /// The library's reason why the connection failed; `None` while it works.
    pub fn failure(&self) -> Option<String> {
        self.core.failure()
    }

    fn find(&self, name: &str, looking: impl Fn() -> String) -> Result<Plugin> {
        self.core.check()?;
        if let Some(found) = self.core.plugins.iter().find(|plugin| plugin.name() == name) {
            return Ok(*found);
        }
        let names = self.core.plugins.iter().map(|plugin| format!("`{}`", plugin.name()));
        let mut why = match names.collect::<Vec<_>>() {
            names if names.is_empty() => "the service serves no plugin".to_owned(),
            names => format!("the service has {}", names.join(", ")),
        };
        let mut hint =
            "put its .so, or the directory of that, into the service's UROM_PLUGIN_PATH \
            and connect again; the service's log says which files it found and does not serve, and \
            why: one that is older than its sources has to be built again"
                .to_owned();
        let as_built = format!("lib{name}");
        if self.core.plugins.iter().any(|plugin| plugin.name() == as_built) {
            let link = format!("link or copy the file as `{name}.so` and connect again");
            hint = format!("it was found as `{as_built}`: {link}");
        } else if let Some((reason, what)) = self.not_served(name) {
            (why, hint) = (format!("{why}: {reason}"), what);
        }
        Err(Error::new(DocaError::NOT_FOUND, looking()).why(why).hint(hint))
    }

    /// Why the embedded service lacks a plugin, and a hint.
    #[cfg(feature = "embedded")]
    fn not_served(&self, name: &str) -> Option<(String, String)> {
        self.core.library.extensions().urom_service_set_embedded?;
        let path = match &self.core.source {
            ServiceSource::Embedded { plugin_path } => plugin_path.as_deref().map(joined),
            ServiceSource::Environment
                if std::env::var_os(SERVICE_FILE).is_none_or(|file| file.is_empty()) =>
            {
                None
            }
            ServiceSource::Environment | ServiceSource::Address { .. } => return None,
        };
        Some(urom_service::embedded::not_served(name, path.as_deref()))
    }

    #[cfg(not(feature = "embedded"))]
    fn not_served(&self, _name: &str) -> Option<(String, String)> {
        None
    }
}

debug_fields!(ServiceHandle, |it| { plugins: it.plugins() });
