//! The builder of a worker.

use std::ffi::{CString, c_char};
use std::sync::Arc;
use std::time::Duration;

use urom_abi::cpu::CpuSet;
use urom_abi::{DocaError, WORKER_ID_ANY};

use crate::engine::ProgressEngine;
use crate::error::{Error, Result};
use crate::plugin::Plugin;
use crate::service::core::ServiceCore;
use crate::worker::context::{Owner, WorkerSettings};

const DEFAULT_INFLIGHT: u32 = 64;

const CREATING: &str = "creating a worker";

/// A builder for a worker, from [`ServiceHandle::worker`](crate::ServiceHandle::worker).
///
/// ```no_run
/// use std::time::Duration;
/// # use urom_host::{CpuSet, Service, Result};
/// # fn main() -> Result<()> {
/// let service = Service::connect_blocking()?;
/// let graph = service.plugin::<graph_protocol::Protocol>()?;
/// let first: CpuSet = service.cpus().iter().take(1).collect();
/// let worker = service.worker().id(3).group(1).plugin(&graph).env("UCX_LOG_LEVEL", "debug");
/// let worker = worker.cpus(first).max_inflight(1024).timeout(Duration::from_secs(2));
/// let worker = worker.start().wait()?;
/// // A task may have another deadline, or none.
/// graph.task_loopback(&worker, 3).timeout(Duration::MAX).submit()?.wait()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "a worker is not started before `start`"]
pub struct WorkerBuilder {
    service: Arc<ServiceCore>,
    engine: Option<ProgressEngine>,
    pub(super) settings: WorkerSettings,
    /// Whether it connects to an existing worker. The environment is kept for a restart.
    pub(super) joins: bool,
}

impl WorkerBuilder {
    pub(crate) fn new(service: Arc<ServiceCore>) -> WorkerBuilder {
        let settings = WorkerSettings {
            id: WORKER_ID_ANY,
            group: None,
            plugins: Vec::new(),
            env: Vec::new(),
            cpus: None,
            max_inflight: DEFAULT_INFLIGHT,
            timeout: None,
        };
        WorkerBuilder { service, engine: None, settings, joins: false }
    }

    pub(crate) fn again(owner: &Owner) -> WorkerBuilder {
        let settings = WorkerSettings { id: owner.id.get(), ..owner.settings.clone() };
        let (service, engine) = (Arc::clone(&owner.service), Some(owner.engine.clone()));
        WorkerBuilder { service, engine, settings, joins: false }
    }

    /// The worker's id (`doca_urom_worker_set_id`). If the service has a worker with that id, this
    /// connects to it. [`worker_id`](crate::worker_id) computes ids by DOCA's convention.
    ///
    /// Without this, or with [`WORKER_ID_ANY`], the service chooses the id of a new worker. This
    /// project's service counts from 0xf7a391c5_00000000 to avoid the programs' ids.
    pub fn id(mut self, id: u64) -> Self {
        self.settings.id = id;
        self
    }

    /// The worker's group, for `workers_of_group` (`doca_urom_worker_set_gid`).
    pub fn group(mut self, group: u32) -> Self {
        self.settings.group = Some(group);
        self
    }

    /// A plugin or client to load in the worker (`doca_urom_worker_set_plugins`); repeatable.
    pub fn plugin(mut self, plugin: impl AsRef<Plugin>) -> Self {
        self.settings.plugins.push(*plugin.as_ref());
        self
    }

    /// A variable for the environment of a new worker (`doca_urom_worker_set_env`); repeatable.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.env.push((name.into(), value.into()));
        self
    }

    /// The worker's CPUs (`doca_urom_worker_set_cpuset`): a subset of the service's.
    pub fn cpus(mut self, cpus: CpuSet) -> Self {
        self.settings.cpus = Some(cpus);
        self
    }

    /// The most allocated tasks (`doca_urom_worker_set_max_inflight_tasks`): a power of two,
    /// default 64. A completed task counts until its answer is taken and its payloads are dropped.
    pub fn max_inflight(mut self, tasks: u32) -> Self {
        self.settings.max_inflight = tasks;
        self
    }

    /// Cancels each task of this worker `limit` after its submission, with `TIME_OUT`, unless the
    /// task has its own timeout; see [`Completion`](crate::Completion). Without this, tasks wait
    /// until they are answered or the worker is lost.
    ///
    /// A task with a timeout reads the clock once more than a task without.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.settings.timeout = Some(limit);
        self
    }

    /// Is [`Self::timeout`].
    #[deprecated(note = "use `timeout`")]
    pub fn deadline(self, limit: Duration) -> Self {
        self.timeout(limit)
    }

    /// The engine of this thread for the worker. Without it, a worker of a
    /// [`Service`](crate::Service) uses the service's engine; a worker of a
    /// [`ServiceHandle`](crate::ServiceHandle) gets a new one.
    pub fn engine(mut self, engine: &ProgressEngine) -> Self {
        self.engine = Some(engine.clone());
        self
    }

    pub(crate) fn begin(self) -> Result<Owner> {
        let owner = self.create()?;
        owner.start()?;
        Ok(owner)
    }

    fn create(self) -> Result<Owner> {
        self.service.check()?;
        let mask = self.mask()?;
        let env = self.environment()?;
        let library = self.service.library;
        let engine = match self.engine {
            Some(engine) => engine.checked(library, CREATING)?,
            None => ProgressEngine::with_library(library)?,
        };
        let owner = Owner::new(self.service, engine, self.settings, mask)?;
        let (api, worker, settings) = (library.api(), owner.object(), &owner.settings);
        let set = |code, what| owner.set(code, what);
        // SAFETY: the worker is live and idle.
        set(unsafe { (api.doca_urom_worker_set_id)(worker, settings.id) }, "the id")?;
        if let Some(group) = settings.group {
            // SAFETY: `owner` owns the worker, which is not started yet.
            set(unsafe { (api.doca_urom_worker_set_gid)(worker, group) }, "the group")?;
        }
        if !env.is_empty() && !self.joins {
            let pointers: Vec<*mut c_char> =
                env.iter().map(|variable| variable.as_ptr().cast_mut()).collect();
            // SAFETY: as above; the array and the strings outlive the call, which copies them.
            let code = unsafe {
                (api.doca_urom_worker_set_env)(worker, pointers.as_ptr(), pointers.len())
            };
            set(code, "the environment")?;
        }
        // SAFETY: `owner` owns the worker, which is not started yet.
        let code =
            unsafe { (api.doca_urom_worker_set_max_inflight_tasks)(worker, settings.max_inflight) };
        set(code, "the number of tasks in flight (a power of two)")?;
        // SAFETY: `owner` owns the worker, which is not started yet.
        set(unsafe { (api.doca_urom_worker_set_plugins)(worker, mask) }, "the plugins")?;
        if let Some(cpus) = settings.cpus {
            // SAFETY: `owner` owns the worker, which is not started yet.
            let code = unsafe { (api.doca_urom_worker_set_cpuset)(worker, cpus) };
            set(code, "the CPUs (a subset of the service's)")?;
        }
        Ok(owner)
    }

    fn mask(&self) -> Result<u64> {
        if self.settings.plugins.is_empty() {
            let hint = "name at least one with WorkerBuilder::plugin";
            return Err(invalid("it lacks a plugin").hint(hint));
        }
        let mut mask = 0;
        for plugin in &self.settings.plugins {
            if plugin.service() != self.service.serial {
                let why = format!("plugin `{}` was found on another service", plugin.name());
                let hint = "look it up on the service that the worker is to run on";
                return Err(invalid(why).hint(hint));
            }
            mask |= plugin.id();
        }
        Ok(mask)
    }

    fn environment(&self) -> Result<Vec<CString>> {
        let variable = |(name, value): &(String, String)| {
            let hint = "a name is not empty and does not contain `=`, and neither name nor value holds a NUL";
            let is_name = !name.is_empty() && !name.contains('=');
            let variable = is_name.then(|| CString::new(format!("{name}={value}")).ok());
            variable.flatten().ok_or_else(|| {
                let name = name.escape_debug();
                invalid(format!("`{name}` cannot be an environment variable")).hint(hint)
            })
        };
        self.settings.env.iter().map(variable).collect()
    }
}

fn invalid(why: impl Into<String>) -> Error {
    Error::new(DocaError::INVALID_VALUE, CREATING).why(why)
}

// Only the names of the environment: a value may be a secret.
debug_fields!(WorkerBuilder, |it| {
    id: it.settings.id,
    group: it.settings.group,
    plugins: it.settings.plugins,
    env: it.settings.env.iter().map(|(name, _)| name).collect::<Vec<_>>(),
    cpus: it.settings.cpus,
    max_inflight: it.settings.max_inflight,
    timeout: it.settings.timeout
});
