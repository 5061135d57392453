//! Putting a worker together.

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

/// A worker that is being put together: made by [`Service::worker`](crate::Service::worker) or
/// [`ServiceHandle::worker`](crate::ServiceHandle::worker), ended by [`start`](Self::start).
///
/// ```no_run
/// use std::time::Duration;
/// # use urom_host::{CpuSet, Service, Result};
/// # fn main() -> Result<()> {
/// let service = Service::connect()?;
/// let graph = service.plugin::<graph_protocol::Protocol>()?;
/// let first: CpuSet = service.cpus().iter().take(1).collect();
/// let worker = service.worker().id(3).group(1).plugin(&graph).env("UCX_LOG_LEVEL", "debug");
/// let worker = worker.cpus(first).max_inflight(1024).deadline(Duration::from_secs(2));
/// let worker = worker.start().wait()?;
/// // A task may have another deadline, or none.
/// graph.task_loopback(&worker, 3).deadline(Duration::MAX).submit()?.wait()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "a worker is not started before `start`"]
pub struct WorkerBuilder {
    service: Arc<ServiceCore>,
    engine: Option<ProgressEngine>,
    settings: WorkerSettings,
    /// The environment is not sent to the service, because the worker exists and has one.
    joins: bool,
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
            deadline: None,
        };
        WorkerBuilder { service, engine: None, settings, joins: false }
    }

    /// What started `owner`, with the id that it had.
    pub(crate) fn again(owner: &Owner) -> WorkerBuilder {
        let settings = WorkerSettings { id: owner.id.get(), ..owner.settings.clone() };
        let (service, engine) = (Arc::clone(&owner.service), Some(owner.engine.clone()));
        WorkerBuilder { service, engine, settings, joins: false }
    }

    /// Connects to a worker that runs. The environment is kept for a later restart.
    pub(super) fn joining(self) -> WorkerBuilder {
        WorkerBuilder { joins: true, ..self }
    }

    /// Whether a worker that runs would refuse this, because it cannot be given an environment.
    pub(super) fn has_env(&self) -> bool {
        !self.settings.env.is_empty()
    }

    /// The worker's id (`doca_urom_worker_set_id`). When the service has a worker of that id, this
    /// is a further connection to it; [`worker_id`](crate::worker_id) computes ids by DOCA's
    /// convention.
    ///
    /// Without this, or with [`WORKER_ID_ANY`], the worker is a new one with an id of the service's
    /// choice. This project's service counts from 0xf7a391c5_00000000, which is far from what
    /// programs choose.
    pub fn id(mut self, id: u64) -> Self {
        self.settings.id = id;
        self
    }

    /// The worker's group (`doca_urom_worker_set_gid`): a label that
    /// [`workers_of_group`](crate::ServiceHandle::workers_of_group) finds it by.
    pub fn group(mut self, group: u32) -> Self {
        self.settings.group = Some(group);
        self
    }

    /// A plugin that the worker is to load; call it once for each (`doca_urom_worker_set_plugins`).
    /// Takes a [`Plugin`] or a client.
    pub fn plugin(mut self, plugin: impl AsRef<Plugin>) -> Self {
        self.settings.plugins.push(*plugin.as_ref());
        self
    }

    /// A variable for the worker's environment; call it once for each (`doca_urom_worker_set_env`).
    /// Only a worker that does not exist yet can be given one.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.env.push((name.into(), value.into()));
        self
    }

    /// The CPUs the worker may use (`doca_urom_worker_set_cpuset`): a subset of the
    /// [service's](crate::ServiceHandle::cpus).
    pub fn cpus(mut self, cpus: CpuSet) -> Self {
        self.settings.cpus = Some(cpus);
        self
    }

    /// How many tasks may be allocated at a time (`doca_urom_worker_set_max_inflight_tasks`): a
    /// power of two, 64 unless said otherwise. A completed task counts until its answer is taken,
    /// and one whose reply has payloads until these are dropped.
    pub fn max_inflight(mut self, tasks: u32) -> Self {
        self.settings.max_inflight = tasks;
        self
    }

    /// Gives each task of this worker up `limit` after its submission, unless the task has a
    /// deadline of its own. It then ends with `TIME_OUT`, as [`Completion`](crate::Completion)
    /// describes. Without this, tasks wait until they are answered or the worker is lost.
    ///
    /// A task with a deadline reads the clock once more than one without.
    pub fn deadline(mut self, limit: Duration) -> Self {
        self.settings.deadline = Some(limit);
        self
    }

    /// The engine that will progress the worker, one of this thread. Without it, a worker of a
    /// [`Service`](crate::Service) uses the service's engine, and one of a
    /// [`ServiceHandle`](crate::ServiceHandle) gets an engine of its own.
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
            // SAFETY: as above; the array and the strings live until the call returns, which copies
            // and does not change them.
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
            return Err(invalid("it has no plugin").hint(hint));
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
            let hint =
                "a name is not empty and holds no `=`, and neither name nor value holds a NUL";
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

// Of the environment only the names: a value may be a secret.
debug_fields!(WorkerBuilder, |it| {
    id: it.settings.id,
    group: it.settings.group,
    plugins: it.settings.plugins,
    env: it.settings.env.iter().map(|(name, _)| name).collect::<Vec<_>>(),
    cpus: it.settings.cpus,
    max_inflight: it.settings.max_inflight,
    deadline: it.settings.deadline
});
