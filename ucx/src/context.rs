//! The context: which of UCX's features and transports a program uses.

use std::ffi::{CString, c_void};
use std::ptr;
use std::rc::Rc;
use std::sync::Once;

use rustix::process::{Resource, getrlimit};
use ucx_sys::{self as sys, Zeroed};

use crate::descriptors;
use crate::features::Features;
use crate::fork;
use crate::queues::{Queues, UNIFIED_MODE, WATCHED_QUEUE};
use crate::settings;
use crate::slot::RequestSlot;
use crate::status::{Result, Status, check};
use crate::threads;
use crate::version::{require_version, version};

/// A UCX context: `ucp_context_h`. A handle that can be cloned; the context ends with the last
/// handle, worker and registered memory made from it.
///
/// It belongs to one thread. Each thread that uses UCX makes its own, which takes 1 to 2 ms.
#[derive(Clone)]
pub struct Context {
    inner: Rc<ContextState>,
}

struct ContextState {
    raw: sys::ucp_context_h,
    features: Features,
    queues: Queues,
    /// Whether peers may write to receive queues in its memory.
    has_queues: bool,
    /// Which network devices its program chose, if it did.
    devices: Option<String>,
    /// Whether it may send rendezvous messages.
    rendezvous: bool,
}

impl Drop for ContextState {
    fn drop(&mut self) {
        // SAFETY: made by `ucp_init`; everything made from it held this structure alive, so nothing
        // is left.
        unsafe { sys::ucp_cleanup(self.raw) };
    }
}

impl Context {
    /// Starts to describe a context with these features.
    pub fn builder(features: Features) -> ContextBuilder {
        ContextBuilder { features, config: Vec::new(), name: None }
    }

    /// A context with these features and the configuration of the environment (`UCX_TLS` and so
    /// on).
    pub fn new(features: Features) -> Result<Context> {
        Context::builder(features).build()
    }

    /// Its features.
    #[must_use]
    pub fn features(&self) -> Features {
        self.inner.features
    }

    /// An error unless the context has these features. UCX is built without the checks that would
    /// say so.
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

    /// Which network devices it may use, by the program or the environment; `None` for all.
    pub(crate) fn devices(&self) -> Option<&str> {
        self.inner.devices.as_deref()
    }

    /// Whether a message may be announced ([`AmFlags::RENDEZVOUS`](crate::AmFlags::RENDEZVOUS)).
    /// Some releases crash on that where UCX does not watch the program's memory
    /// (`UCX_MEM_EVENTS=n`).
    #[must_use]
    pub fn has_rendezvous(&self) -> bool {
        self.inner.rendezvous
    }

    /// An error unless workers of this context and of one with these queues may connect.
    pub(crate) fn require_queues(&self, peer: Queues, what: impl FnOnce() -> String) -> Result<()> {
        if !self.inner.has_queues && peer.are_known() {
            // Neither side writes to the other's memory.
            return Ok(());
        }
        self.inner.queues.require(peer, what)
    }

    /// Whether its workers may have queues in shared memory.
    pub(crate) fn has_queues(&self) -> bool {
        self.inner.has_queues
    }

    /// The sizes of its workers' queues.
    pub(crate) fn queues(&self) -> Queues {
        self.inner.queues
    }
}

debug_fields!(Context, |it| { features: it.inner.features });

/// The settings from which a [`Context`] is made.
#[derive(Debug, Clone)]
#[must_use]
pub struct ContextBuilder {
    features: Features,
    config: Vec<(String, String)>,
    name: Option<String>,
}

/// The size that files of UCX's shared memory stay below, each of some MiB.
const LEAST_FILE_SIZE: u64 = 64 << 20;

impl ContextBuilder {
    /// The settings of a receive queue with
    /// [`watched_shared_memory`](ContextBuilder::watched_shared_memory). Both ends must have the
    /// same, because a sender writes into its peer's queue by its own, and UCX checks nothing.
    pub const WATCHED_QUEUE: [(&str, &str); 3] = WATCHED_QUEUE;

    /// Sets one of UCX's configuration values for this context, over the environment's. `name` is
    /// the environment variable without `UCX_`: `config("TLS", "tcp")`.
    ///
    /// UCX 1.16 reads settings of a single transport from the environment only. It gets those of
    /// `posix` (`POSIX_..`) for all transports with a receive queue in memory, and `sysv` is then
    /// left out; it does not get those of others. Before 1.20 a setting of `posix` or `sysv` is
    /// left out where the transport is not used.
    ///
    /// Workers whose programs set different sizes of shared memory (`FIFO_SIZE`, `FIFO_ELEM_SIZE`,
    /// `SEG_SIZE`) do not connect. What the environment sets of them must be the same for all
    /// processes of a machine.
    pub fn config(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.config.push((name.into(), value.into()));
        self
    }

    /// Lets endpoints that notice a lost peer use shared memory, which UCX does not do by itself:
    /// adds [`Features::AM`], and sets `POSIX_ERROR_HANDLING`, and `KEEPALIVE_INTERVAL` to half a
    /// second. It is not set for
    /// `sysv`, where UCX would look for the process by a number that may be of another namespace.
    ///
    /// Receivers fetch long messages (`RNDV_SCHEME`), so that none goes over `tcp` beside the
    /// memory.
    ///
    /// A receive queue has the sizes of [`WATCHED_QUEUE`](ContextBuilder::WATCHED_QUEUE), whatever
    /// the environment says. Workers of contexts that were made with this connect to each other.
    /// Others get the status `UNREACHABLE`, over any transport, except those of contexts
    /// [`without_shared_memory`](ContextBuilder::without_shared_memory).
    ///
    /// While progress goes on, an endpoint that is connected by worker address checks every half
    /// second whether the peer's process exists. It does not notice a peer that closed in a process
    /// that goes on. [`Mesh`](crate::Mesh) notices both.
    pub fn watched_shared_memory(self) -> Self {
        // A mesh tests its queue with an active message.
        let watched = self.features(Features::AM);
        let watched =
            watched.config("POSIX_ERROR_HANDLING", "y").config("KEEPALIVE_INTERVAL", "500ms");
        // Else UCX adds a lane over TCP for long messages, and asks the system for its events in
        // every round of progress.
        let watched = watched.config("RNDV_SCHEME", "get_zcopy");
        Self::WATCHED_QUEUE
            .into_iter()
            .fold(watched, |watched, (name, value)| watched.config(name, value))
    }

    /// Adds to its features.
    pub(crate) fn features(mut self, more: Features) -> Self {
        self.features |= more;
        self
    }

    /// Takes the transports through memory of this machine out of the list (`TLS`). Workers of such
    /// a context connect to those of any other with the usual queues, also with
    /// [`watched_shared_memory`](ContextBuilder::watched_shared_memory).
    pub fn without_shared_memory(self) -> Self {
        let own = self.config.iter().rev().find(|(name, _)| name == "TLS");
        let list = own.map(|(_, list)| list.clone()).or_else(|| std::env::var("UCX_TLS").ok());
        self.config("TLS", settings::without_memory(list.as_deref().unwrap_or("all")))
    }

    /// Names the context in UCX's own log and statistics.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Makes the context: `ucp_config_read`, `ucp_config_modify`, `ucp_init`.
    ///
    /// It is made [`without_shared_memory`](ContextBuilder::without_shared_memory) in a process that
    /// may not write files of 64 MiB (`ulimit -f`): shared memory is files, and the signal `SIGXFSZ`
    /// would end the process.
    ///
    /// # Errors
    /// - `NO_ELEM` or `INVALID_PARAM`, by version, for a configuration name that UCX does not know.
    ///   Before 1.20 UCX only logs a warning, when a worker is made.
    /// - `NO_DEVICE` when the list of transports leaves none.
    /// - `INVALID_PARAM` for a text with a zero byte.
    /// - `EXCEEDS_LIMIT` when the process has too few free descriptors (`ulimit -n`).
    /// - `UNSUPPORTED` for settings with which this release would fail later, such as
    ///   `UCX_PROTO_ENABLE=n` from 1.22 on with remote memory.
    /// - That of [`require_version`](crate::require_version), and UCX's others.
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
        let config = Config::read()?;
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
            // Releases without the setting have no cache of contexts.
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
        // SAFETY: the mask names what is set, the configuration is live, and UCX copies the name.
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
            queues: Queues::of(&shared),
            has_queues,
            devices: own.map(|(_, value)| value.clone()).or_else(|| environment("UCX_NET_DEVICES")),
            rendezvous: danger.is_none(),
        };
        Ok(Context { inner: Rc::new(inner) })
    }
}

/// A configuration, freed on every path.
struct Config(*mut sys::ucp_config_t);

impl Config {
    fn read() -> Result<Config> {
        let mut raw = ptr::null_mut();
        // SAFETY: no prefix and no file means the environment; `raw` can be written to.
        let status = unsafe { sys::ucp_config_read(ptr::null(), ptr::null(), &mut raw) };
        check(status, "reading UCX's configuration from the environment")?;
        Ok(Config(raw))
    }

    fn set(&self, name: &str, value: &str) -> Result<()> {
        let what = || {
            format!("setting {name} to {value:?} (names are those of the environment without UCX_)")
        };
        let c_name = c_string("a configuration name", name)?;
        let c_value = c_string("a configuration value", value)?;
        // SAFETY: the configuration is live, the strings are C strings that UCX copies.
        let status = unsafe { sys::ucp_config_modify(self.0, c_name.as_ptr(), c_value.as_ptr()) };
        check(status, what())
    }
}

impl Drop for Config {
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
