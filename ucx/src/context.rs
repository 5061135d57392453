//! The context: the UCX features and transports that a program uses.

use std::ffi::{CString, c_void};
use std::ptr;
use std::rc::Rc;
use std::sync::Once;

use rustix::process::{Resource, getrlimit};
use ucx_sys::{self as sys, Zeroed};

use crate::descriptors;
use crate::features::Features;
use crate::fork;
use crate::queues::{QueueSum, UNIFIED_MODE, WATCHED_QUEUE};
use crate::settings;
use crate::slot::RequestSlot;
use crate::status::{Result, Status, check};
use crate::threads;
use crate::version::{require_version, version};

/// A UCX context: `ucp_context_h`, kept by its handles, workers and registered memory.
///
/// A context belongs to one thread. Each thread that uses UCX makes its own, which takes 1 to 2 ms.
#[derive(Clone)]
pub struct Context {
    inner: Rc<ContextState>,
}

struct ContextState {
    raw: sys::ucp_context_h,
    features: Features,
    queues: QueueSum,
    has_queues: bool,
    devices: Option<String>,
    rendezvous: bool,
}

impl Drop for ContextState {
    fn drop(&mut self) {
        // SAFETY: from `ucp_init`; every object made from it holds this structure, so none is left.
        unsafe { sys::ucp_cleanup(self.raw) };
    }
}

impl Context {
    /// Returns a builder for a context with these features.
    pub fn builder(features: Features) -> ContextBuilder {
        ContextBuilder { features, config: Vec::new(), name: None }
    }

    /// Makes a context with these features and the environment's configuration (`UCX_TLS` etc.).
    pub fn new(features: Features) -> Result<Context> {
        Context::builder(features).build()
    }

    /// Returns the context's features.
    #[must_use]
    pub fn features(&self) -> Features {
        self.inner.features
    }

    /// Returns an error unless the context has these features. UCX is built without this check.
    pub(crate) fn require(&self, features: Features, what: &'static str) -> Result<()> {
        if self.inner.features.contains(features) {
            return Ok(());
        }
        Err(Status::UNSUPPORTED
            .during(format!("{what} (the context was made without {features:?})")))
    }

    pub(crate) fn raw(&self) -> sys::ucp_context_h {
        self.inner.raw
    }

    /// Returns the network devices that the program or the environment allows; `None` means all.
    pub(crate) fn devices(&self) -> Option<&str> {
        self.inner.devices.as_deref()
    }

    /// Returns whether rendezvous messages are safe: some releases crash with `UCX_MEM_EVENTS=n`.
    #[must_use]
    pub fn has_rendezvous(&self) -> bool {
        self.inner.rendezvous
    }

    pub(crate) fn check_queues(&self, peer: QueueSum, what: impl FnOnce() -> String) -> Result<()> {
        if !self.inner.has_queues && peer.are_known() {
            return Ok(());
        }
        self.inner.queues.require(peer, what)
    }

    pub(crate) fn has_queues(&self) -> bool {
        self.inner.has_queues
    }

    pub(crate) fn queues(&self) -> QueueSum {
        self.inner.queues
    }
}

debug_fields!(Context, |it| { features: it.inner.features });

/// Builds a [`Context`].
#[derive(Debug, Clone)]
#[must_use]
pub struct ContextBuilder {
    features: Features,
    config: Vec<(String, String)>,
    name: Option<String>,
}

/// The file size limit that shared memory of UCX needs; its files have some MiB each.
const LEAST_FILE_SIZE: u64 = 64 << 20;

impl ContextBuilder {
    /// Queue settings of [`watched_shared_memory`](ContextBuilder::watched_shared_memory), which
    /// UCX does not check for equality at both ends.
    pub const WATCHED_QUEUE: [(&str, &str); 3] = WATCHED_QUEUE;

    /// Sets a UCX configuration value for this context, with precedence over the environment.
    /// `name` is the environment variable without `UCX_`: `config("TLS", "tcp")`.
    ///
    /// UCX 1.16 reads settings of a single transport from the environment only. There, settings of
    /// `posix` (`POSIX_..`) apply to all transports with a receive queue in shared memory, `sysv`
    /// is disabled, and other settings have no effect. Before 1.20, they need a used transport.
    ///
    /// Workers whose programs set different shared memory sizes (`FIFO_SIZE`, `FIFO_ELEM_SIZE`,
    /// `SEG_SIZE`) do not connect. Values in the environment must be the same on the whole machine.
    pub fn config(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.config.push((name.into(), value.into()));
        self
    }

    /// Enables shared memory for endpoints that detect a lost peer: adds [`Features::AM`], sets
    /// `POSIX_ERROR_HANDLING`, and sets `KEEPALIVE_INTERVAL` to half a second. `sysv` stays
    /// disabled: it would identify the process by a pid of possibly another namespace.
    ///
    /// Receivers fetch long messages (`RNDV_SCHEME`), so that long messages do not go over `tcp`.
    ///
    /// A receive queue has the sizes of [`WATCHED_QUEUE`](ContextBuilder::WATCHED_QUEUE),
    /// regardless of the environment. Workers with other sizes get `UNREACHABLE`, over any
    /// transport, unless their context is
    /// [`without_shared_memory`](ContextBuilder::without_shared_memory).
    ///
    /// During progress, an endpoint connected by worker address checks every half second whether
    /// the peer's process exists. [`Mesh`](crate::Mesh) also detects a closed worker.
    pub fn watched_shared_memory(self) -> Self {
        // A mesh tests its queue with an active message.
        let watched = self.features(Features::AM);
        let watched =
            watched.config("POSIX_ERROR_HANDLING", "y").config("KEEPALIVE_INTERVAL", "500ms");
        // Otherwise UCX adds a TCP lane for long messages, with a system call in every round.
        let watched = watched.config("RNDV_SCHEME", "get_zcopy");
        Self::WATCHED_QUEUE
            .into_iter()
            .fold(watched, |watched, (name, value)| watched.config(name, value))
    }

    pub(crate) fn features(mut self, more: Features) -> Self {
        self.features |= more;
        self
    }

    /// Removes the shared memory transports from the list (`TLS`). Such workers connect to any
    /// worker with default queues or
    /// [`watched_shared_memory`](ContextBuilder::watched_shared_memory).
    pub fn without_shared_memory(self) -> Self {
        let own = self.config.iter().rev().find(|(name, _)| name == "TLS");
        let list = own.map(|(_, list)| list.clone()).or_else(|| std::env::var("UCX_TLS").ok());
        self.config("TLS", settings::without_memory(list.as_deref().unwrap_or("all")))
    }

    /// Sets the context's name in UCX's log and statistics.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Makes the context: `ucp_config_read`, `ucp_config_modify`, `ucp_init`.
    ///
    /// If the process may not write files of 64 MiB (`ulimit -f`), for shared memory, the context
    /// is made [`without_shared_memory`](ContextBuilder::without_shared_memory) to avoid `SIGXFSZ`.
    ///
    /// # Errors
    /// - `NO_ELEM` or `INVALID_PARAM` for an unknown configuration name (only logged before 1.20).
    /// - `NO_DEVICE` when the list of transports leaves none.
    /// - `INVALID_PARAM` for a string with a zero byte.
    /// - `EXCEEDS_LIMIT` when the process has too few free descriptors (`ulimit -n`).
    /// - `UNSUPPORTED` for settings that fail later, as `UCX_PROTO_ENABLE=n` from 1.22 with RMA.
    /// - The error of [`require_version`](crate::require_version), and other errors of UCX.
    pub fn build(mut self) -> Result<Context> {
        require_version()?;
        let is_forked = fork::prepare().map_err(|error| {
            Status::IO_ERROR.during(format!("preparing UCX in a forked process: {error}"))
        })?;
        descriptors::require_for("making a context")?;
        threads::require()?;
        if getrlimit(Resource::Fsize).current.is_some_and(|limit| limit < LEAST_FILE_SIZE) {
            static ONCE: Once = Once::new();
            ONCE.call_once(|| {
                tracing::warn!(
                    "UCX does not use shared memory, which is slower: this process may write files \
                     of less than 64 MiB (`ulimit -f`, LimitFSIZE=)"
                );
            });
            self = self.without_shared_memory();
        }
        let config = UcpConfig::read()?;
        let environment = |name: &str| std::env::var(name).ok();
        if let Some(why) = settings::refused(self.features, &self.config, version(), environment) {
            return Err(Status::UNSUPPORTED.during(why));
        }
        let transports = environment("UCX_TLS");
        for (name, value) in settings::for_release(&self.config, version(), transports.as_deref()) {
            config.set(&name, &value)?;
        }
        let danger = settings::without_rendezvous(version(), environment);
        if let Some(why) = &danger {
            static ONCE: Once = Once::new();
            ONCE.call_once(|| tracing::warn!("{why}"));
            config.set("RNDV_THRESH", "inf")?;
        }
        if is_forked {
            // Releases without this setting lack a registration cache.
            let _ = config.set("RCACHE_ENABLE", "n");
        }
        let name = self.name.map(|name| c_string("the context's name", &name)).transpose()?;
        let mut params = sys::ucp_params_t::zeroed();
        params.features = self.features.bits();
        params.request_size = size_of::<RequestSlot>();
        params.request_init = Some(RequestSlot::init);
        let mut fields = sys::UCP_PARAM_FIELD_FEATURES
            | sys::UCP_PARAM_FIELD_REQUEST_SIZE
            | sys::UCP_PARAM_FIELD_REQUEST_INIT;
        if let Some(name) = &name {
            params.name = name.as_ptr();
            fields |= sys::UCP_PARAM_FIELD_NAME;
        }
        params.field_mask = fields.into();
        let mut raw = ptr::null_mut();
        // SAFETY: the mask names the set fields, `config` is live, and UCX copies the name.
        let status = unsafe { sys::ucp_init(&params, config.0, &mut raw) };
        check(status, format!("making a context with {:?} and {:?}", self.features, self.config))?;
        let unified = environment("UCX_UNIFIED_MODE").filter(|value| !settings::is_off(value));
        let list = self.config.iter().rev().find(|(name, _)| name == "TLS");
        let list = list.map(|(_, list)| list.as_str()).or(transports.as_deref()).unwrap_or("all");
        let has_queues = settings::has_queues(list) || unified.is_some();
        let unified = unified.map(|value| (UNIFIED_MODE.to_owned(), value));
        let shared: Vec<_> = self.config.iter().cloned().chain(unified).collect();
        let own = self.config.iter().rev().find(|(name, _)| name == "NET_DEVICES");
        let inner = ContextState {
            raw,
            features: self.features,
            queues: QueueSum::of(&shared),
            has_queues,
            devices: own.map(|(_, value)| value.clone()).or_else(|| environment("UCX_NET_DEVICES")),
            rendezvous: danger.is_none(),
        };
        Ok(Context { inner: Rc::new(inner) })
    }
}

struct UcpConfig(*mut sys::ucp_config_t);

impl UcpConfig {
    fn read() -> Result<UcpConfig> {
        let mut raw = ptr::null_mut();
        // SAFETY: without a prefix and a file, UCX reads the environment; `raw` is writable.
        let status = unsafe { sys::ucp_config_read(ptr::null(), ptr::null(), &mut raw) };
        check(status, "reading UCX's configuration from the environment")?;
        Ok(UcpConfig(raw))
    }

    fn set(&self, name: &str, value: &str) -> Result<()> {
        let what =
            || format!("setting {name} to {value:?} (names as in the environment, without UCX_)");
        let c_name = c_string("a configuration name", name)?;
        let c_value = c_string("a configuration value", value)?;
        // SAFETY: the configuration is live, and UCX copies both C strings.
        let status = unsafe { sys::ucp_config_modify(self.0, c_name.as_ptr(), c_value.as_ptr()) };
        check(status, what())
    }
}

impl Drop for UcpConfig {
    fn drop(&mut self) {
        // SAFETY: from `ucp_config_read`, released once.
        unsafe { sys::ucp_config_release(self.0) };
    }
}

pub(crate) fn c_string(what: &str, text: &str) -> Result<CString> {
    CString::new(text).map_err(|error| {
        Status::INVALID_PARAM.during(format!("{what} {text:?} has a zero byte: {error}"))
    })
}

pub(crate) fn void<T>(pointer: *const T) -> *mut c_void {
    pointer.cast_mut().cast()
}
