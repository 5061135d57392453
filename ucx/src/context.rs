//! The context: which of UCX's features and transports a program uses, and the memory it registers.

use std::ffi::{CString, c_void};
use std::fmt;
use std::ptr;
use std::rc::Rc;
use std::sync::Once;

use ucx_sys as sys;

use crate::features::Features;
use crate::queues::{Queues, UNIFIED_MODE};
use crate::settings;
use crate::slot::Slot;
use crate::status::{Result, Status, check};
use crate::version::{require_version, version};
use crate::zeroed::Zeroed;

/// A UCX context: `ucp_context_h`. A handle that can be cloned; the context ends with the last
/// handle, worker and registered memory made from it. It belongs to one thread; a thread that wants
/// UCX of its own makes its own context (1 to 2 ms).
///
/// ```
/// use ucx::{Context, Features};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // As the environment configures it, with `UCX_TLS` and so on.
/// let context = Context::new(Features::TAG)?;
/// // As the program does.
/// let context = Context::builder(Features::TAG).config("TLS", "tcp,self").build()?;
/// assert_eq!(context.features(), Features::TAG);
/// let worker = context.worker()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Context {
    inner: Rc<Inner>,
}

struct Inner {
    raw: sys::ucp_context_h,
    features: Features,
    queues: Queues,
    /// Which network devices its program chose, if it did.
    devices: Option<String>,
    /// Whether it may send rendezvous messages.
    rendezvous: bool,
}

impl Drop for Inner {
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
    ///
    /// # Errors
    ///
    /// As [`ContextBuilder::build`].
    pub fn new(features: Features) -> Result<Context> {
        Context::builder(features).build()
    }

    /// What the context was made for.
    #[must_use]
    pub fn features(&self) -> Features {
        self.inner.features
    }

    /// An error unless the context has these features: UCX is built without the checks that would
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

    /// Which network devices it may use, as the program or the environment says; `None` for all.
    pub(crate) fn devices(&self) -> Option<&str> {
        self.inner.devices.as_deref()
    }

    /// Whether a rendezvous message is safe.
    pub(crate) fn has_rendezvous(&self) -> bool {
        self.inner.rendezvous
    }

    /// What the queues of its workers are like.
    pub(crate) fn queues(&self) -> Queues {
        self.inner.queues
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("features", &self.inner.features).finish_non_exhaustive()
    }
}

/// What a [`Context`] is made from.
#[derive(Debug, Clone)]
#[must_use]
pub struct ContextBuilder {
    features: Features,
    config: Vec<(String, String)>,
    name: Option<String>,
}

impl ContextBuilder {
    /// What a receive queue is like with
    /// [`watched_shared_memory`](ContextBuilder::watched_shared_memory): the settings of which both
    /// ends of a queue must have one idea. A sender writes into its peer's queue by its own, and
    /// UCX checks nothing. A program that is not made with this crate, and is to be reached over
    /// shared memory, sets the same.
    pub const WATCHED_QUEUE: [(&str, &str); 3] = [
        // How many places it has. Messages go through all of them in turn: so few stay in the
        // caches of both cores, where UCX's 256 take as much as such a cache has. With 32, as many
        // hosts as that at one worker waited for each other.
        ("POSIX_FIFO_SIZE", "64"),
        // How long a place itself is, in bytes: longer than 4 KiB with UCX's headers, so that UCX
        // writes messages of up to that straight into it. Of UCX's 128 few are left for a message,
        // and longer ones take a request of UCX's and other lines of memory.
        ("POSIX_FIFO_ELEM_SIZE", "4224"),
        // The memory that each place has for what does not fit it, in bytes: UCX's own choice.
        ("POSIX_SEG_SIZE", "8256"),
    ];

    /// Sets one of UCX's configuration values for this context only, over what the environment
    /// says.
    ///
    /// `name` is that of the environment variable without `UCX_`: `config("TLS", "tcp")`.
    ///
    /// UCX 1.16 has settings of a single transport in the environment only: it gets those of
    /// `posix` (`POSIX_..`) for all transports with a receive queue in memory, and `sysv` is left
    /// out then; those of others it does not get. Before 1.20 a setting of `posix` or `sysv` is
    /// left out where the transport is not used.
    ///
    /// With other sizes of shared memory (`FIFO_SIZE`, `FIFO_ELEM_SIZE`, `SEG_SIZE`) than a peer's
    /// program sets, workers do not connect to that peer. What the environment says of them must be
    /// the same for all processes of a machine.
    pub fn config(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.config.push((name.into(), value.into()));
        self
    }

    /// Lets endpoints that notice when their peer is gone have their data in shared memory, which
    /// UCX does not do by itself: sets `POSIX_ERROR_HANDLING`, and `KEEPALIVE_INTERVAL` to half a
    /// second. (Of `sysv` it does not: UCX would look for the process by a number that may be of
    /// another namespace, which for `posix` it checks.)
    ///
    /// Long messages are fetched by their receiver (`RNDV_SCHEME`), so that none takes a way over
    /// `tcp` beside the memory.
    ///
    /// A receive queue has 64 places of 4224 bytes, and 8256 for a longer message or a part of one
    /// (`POSIX_FIFO_SIZE`, `POSIX_FIFO_ELEM_SIZE`, `POSIX_SEG_SIZE`), whatever the environment
    /// says; the next message waits at its sender. A sender takes its peer's queue to be like its
    /// own. So workers of contexts that were made with this connect to each other, and not to
    /// others: those have the status `UNREACHABLE`, over whatever transport.
    ///
    /// An endpoint that is connected by worker address looks every half second whether the peer's
    /// process exists, while progress goes on, and learns nothing of a peer that has closed in a
    /// process that goes on. [`Mesh`](crate::Mesh) learns of both.
    pub fn watched_shared_memory(self) -> Self {
        let watched =
            self.config("POSIX_ERROR_HANDLING", "y").config("KEEPALIVE_INTERVAL", "500ms");
        // Else UCX adds a lane over TCP for long messages, and asks the system for its events in
        // every round of progress.
        let watched = watched.config("RNDV_SCHEME", "get_zcopy");
        Self::WATCHED_QUEUE
            .into_iter()
            .fold(watched, |watched, (name, value)| watched.config(name, value))
    }

    /// Names the context in UCX's own log and statistics.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Makes the context: `ucp_config_read`, `ucp_config_modify`, `ucp_init`.
    ///
    /// # Errors
    ///
    /// `NO_ELEM` or `INVALID_PARAM`, by version, for a configuration name that UCX does not know
    /// (before 1.20 UCX only logs a warning, when a worker is made); `NO_DEVICE` when the list of
    /// transports leaves none; `INVALID_PARAM` for a text with a zero byte in it; that of
    /// [`require_version`](crate::require_version); `UNSUPPORTED` for what would make this release
    /// fail later on: `UCX_PROTO_ENABLE=n` from 1.22 on where the features have remote memory;
    /// whatever else UCX finds wrong.
    pub fn build(self) -> Result<Context> {
        require_version()?;
        let config = Config::read()?;
        let environment = |name: &str| std::env::var(name).ok();
        if let Some(why) = settings::refused(self.features, &self.config, version(), environment) {
            return Err(Status::UNSUPPORTED.during(why));
        }
        let transports = environment("UCX_TLS");
        let settings = settings::for_release(
            &self.config,
            version(),
            transports.as_deref(),
            settings::has_module,
        );
        for (name, value) in settings {
            config.set(&name, &value)?;
        }
        let danger = settings::without_rendezvous(version(), environment);
        if let Some(why) = &danger {
            static ONCE: Once = Once::new();
            ONCE.call_once(|| tracing::warn!("{why}"));
            config.set("RNDV_THRESH", "inf")?;
        }
        let name = self.name.map(|name| c_string("the context's name", &name)).transpose()?;
        let mut params = sys::ucp_params_t::zeroed();
        params.features = self.features.0;
        params.request_size = size_of::<Slot>();
        params.request_init = Some(Slot::init);
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
        let unified = unified.map(|value| (UNIFIED_MODE.to_owned(), value));
        let shared: Vec<_> = self.config.iter().cloned().chain(unified).collect();
        let own = self.config.iter().rev().find(|(name, _)| name == "NET_DEVICES");
        let inner = Inner {
            raw,
            features: self.features,
            queues: Queues::of(&shared),
            devices: own.map(|(_, value)| value.clone()).or_else(|| environment("UCX_NET_DEVICES")),
            rendezvous: danger.is_none(),
        };
        Ok(Context { inner: Rc::new(inner) })
    }
}

/// A configuration that is freed on every path.
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

/// Where the bytes of a C structure's `void *` come from.
pub(crate) fn void<T>(pointer: *const T) -> *mut c_void {
    pointer.cast_mut().cast()
}
