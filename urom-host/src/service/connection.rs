//! A service context in the library: one thread makes it, progresses it, and destroys it.

use std::ffi::c_char;
use std::os::fd::{AsRawFd, RawFd};
use std::ptr::{self, NonNull};
use std::time::{Duration, Instant};

use urom_abi::DocaError;
use urom_abi::cpu::CpuSet;
use urom_abi::describe::section::{self, Description};
use urom_abi::host::{Api, CtxState, Service as RawService};
use urom_abi::plugin::PluginInfo;

use crate::context::ContextHandle;
use crate::device::Device;
use crate::engine::EngineCore;
use crate::error::{Error, Result, check};
use crate::library::{Library, get};
use crate::service::settings::{Place, Settings};
use crate::wait::poll_set::PollSet;

/// How long the library may take to connect or to disconnect.
const LIMIT: Duration = Duration::from_secs(10);

/// Room for the description of a usual protocol. For a larger one the library says how much it
/// needs.
const LIKELY_DESCRIPTION: usize = 16 << 10;

pub(super) struct Connection {
    handle: ContextHandle,
    service: NonNull<RawService>,
    engine: EngineCore,
    /// Closed after the service that uses it is gone.
    device: Option<Device>,
}

impl Connection {
    /// Creates, configures and starts a service.
    pub(super) fn open(library: Library, settings: &Settings) -> Result<Connection> {
        let api = library.api();
        let engine = EngineCore::new(library)?;
        let (new, as_ctx) = (api.doca_urom_service_create, api.doca_urom_service_as_ctx);
        // SAFETY: the service is destroyed right before the handle is dropped.
        let (service, handle) =
            unsafe { ContextHandle::create(library, "the service", new, as_ctx) }?;
        let mut connection = Connection { handle, service, engine, device: None };
        // SAFETY: the context was just created, on this thread.
        unsafe { connection.engine.connect(connection.handle.ctx()) }?;
        connection.configure(settings)?;
        connection.start(settings)?;
        Ok(connection)
    }

    fn configure(&mut self, settings: &Settings) -> Result<()> {
        let (api, service) = (self.api(), self.service.as_ptr());
        if let Some(size) = settings.max_message_size {
            // SAFETY: the service is live and idle.
            let code = unsafe { (api.doca_urom_service_set_max_comm_msg_size)(service, size) };
            check(code, || format!("setting the message size to {size}"))?;
        }
        if let Some(count) = settings.max_workers {
            // SAFETY: the service is live and idle.
            let code = unsafe { (api.doca_urom_service_set_max_workers)(service, count) };
            check(code, || format!("setting the number of workers to {count}"))
                .map_err(|error| error.hint("it must be a power of two"))?;
        }
        if let Some(name) = &settings.device {
            let device = Device::open(self.handle.library, name)?;
            // SAFETY: the service is live and idle, and the device stays open until the service is
            // destroyed.
            let code = unsafe { (api.doca_urom_service_set_dev)(service, device.as_ptr()) };
            check(code, || format!("giving device `{name}` to the service"))?;
            self.device = Some(device);
        }
        if let Some(path) = &settings.key_file {
            let path = settings.c_path(path)?;
            let extensions =
                self.extensions(settings, "this libdoca_urom takes no key file", "leave it away")?;
            // SAFETY: the service is live and idle; the string lives until the call returns, which
            // copies it.
            let code = unsafe { (extensions.urom_service_set_key_file)(service, path.as_ptr()) };
            check(code, || settings.what()).map_err(|error| error.why(self.failure()))?;
        }
        self.place(settings)
    }

    fn extensions(
        &self,
        settings: &Settings,
        why: &str,
        hint: &str,
    ) -> Result<&'static urom_abi::host::Extensions> {
        self.handle.library.extensions().ok_or_else(|| {
            Error::new(DocaError::NOT_SUPPORTED, settings.what())
                .why(why)
                .hint(format!("{hint}, or name this project's own library"))
        })
    }

    fn place(&self, settings: &Settings) -> Result<()> {
        let service = self.service.as_ptr();
        let extensions = || {
            let why = "this libdoca_urom takes its service from DOCA_UROM_SERVICE_FILE alone";
            self.extensions(settings, why, "set that variable instead")
        };
        let code = match &settings.place {
            // DOCA demands a device; this project's library takes any.
            Place::Environment => match self.handle.library.extensions() {
                // SAFETY: the service is live and idle.
                Some(extensions) if settings.device.is_none() => unsafe {
                    (extensions.urom_service_set_any_device)(service)
                },
                _ => return Ok(()),
            },
            Place::Address { address, origin } => {
                let (address, origin) = (settings.c_string(address)?, settings.c_string(origin)?);
                // SAFETY: the service is live and idle; the strings live until the call returns,
                // which copies them.
                unsafe {
                    (extensions()?.urom_service_set_address)(
                        service,
                        address.as_ptr(),
                        origin.as_ptr(),
                    )
                }
            }
            Place::Embedded { plugin_path } => {
                let path = plugin_path.as_ref().map(|path| settings.c_path(path)).transpose()?;
                let path: *const c_char = path.as_ref().map_or(ptr::null(), |path| path.as_ptr());
                // SAFETY: as above.
                unsafe { (extensions()?.urom_service_set_embedded)(service, path) }
            }
        };
        check(code, || settings.what()).map_err(|error| error.why(self.failure()))
    }

    fn start(&self, settings: &Settings) -> Result<()> {
        // SAFETY: the context is live and idle.
        let code = unsafe { (self.api().doca_ctx_start)(self.handle.ctx().as_ptr()) };
        let failed = |code| match self.failure() {
            // The library's words name the place already.
            why if !why.is_empty() => Error::new(code, "connecting to the service").why(why),
            _ if self.handle.library.extensions().is_none() => unexplained(code, settings),
            _ => Error::new(code, settings.what()),
        };
        if code != DocaError::IN_PROGRESS {
            code.check().map_err(failed)?;
        }
        self.until(|state| state != CtxState::STARTING);
        match self.state() {
            CtxState::RUNNING => Ok(()),
            CtxState::STARTING => Err(failed(DocaError::TIME_OUT)),
            _ => Err(failed(DocaError::NOT_CONNECTED)),
        }
    }

    fn api(&self) -> &'static Api {
        self.handle.api()
    }

    pub(super) fn pointer(&self) -> NonNull<RawService> {
        self.service
    }

    pub(super) fn failure(&self) -> String {
        self.handle.failure()
    }

    fn state(&self) -> CtxState {
        // The library only refuses a NULL pointer.
        self.handle.state().unwrap_or(CtxState::IDLE)
    }

    pub(super) fn is_running(&self) -> bool {
        self.state() == CtxState::RUNNING
    }

    /// The plugins that the service found, each with its fingerprint where that is known.
    pub(super) fn plugins(&self) -> Result<Vec<(PluginInfo, Option<u64>)>> {
        let (mut plugins, mut count) = (ptr::null(), 0);
        // SAFETY: the service is live, and the pointers are to local variables.
        let code = unsafe {
            (self.api().doca_urom_service_get_plugins_list)(
                self.service.as_ptr(),
                &mut plugins,
                &mut count,
            )
        };
        if code != DocaError::NOT_FOUND {
            check(code, || "asking the service for its plugins")?;
        }
        if code == DocaError::NOT_FOUND || count == 0 || plugins.is_null() {
            return Ok(Vec::new());
        }
        // SAFETY: the library gave out an array of `count` entries that lives as long as the
        // service runs.
        let plugins = unsafe { std::slice::from_raw_parts(plugins, count) };
        plugins.iter().map(|info| Ok((*info, self.fingerprint(info.id)?))).collect()
    }

    fn fingerprint(&self, plugin: u64) -> Result<Option<u64>> {
        let Some(extensions) = self.handle.library.extensions() else { return Ok(None) };
        let mut fingerprint = 0;
        // SAFETY: the service is live and runs, and the pointer is to a local variable.
        let code = unsafe {
            (extensions.urom_service_get_plugin_fingerprint)(
                self.service.as_ptr(),
                plugin,
                &mut fingerprint,
            )
        };
        if code == DocaError::NOT_FOUND {
            return Ok(None);
        }
        check(code, || "asking the service for a plugin's fingerprint")?;
        Ok(Some(fingerprint))
    }

    /// Asks for a plugin's description. Blocks this thread for at most some seconds.
    pub(super) fn description(&self, plugin: u64) -> Result<Description> {
        let what = "asking the service for a plugin's description";
        let extensions = self.handle.library.extensions();
        let extensions = extensions.ok_or_else(|| Error::new(DocaError::NOT_SUPPORTED, what))?;
        let mut bytes = vec![0u8; LIKELY_DESCRIPTION];
        let ask = |bytes: &mut Vec<u8>| {
            let mut length = bytes.len();
            // SAFETY: the service is live; there are as many bytes as `length` says, which is a
            // local variable.
            let code = unsafe {
                (extensions.urom_service_get_plugin_description)(
                    self.service.as_ptr(),
                    plugin,
                    bytes.as_mut_ptr().cast(),
                    &mut length,
                )
            };
            (code, length)
        };
        let (mut code, mut length) = ask(&mut bytes);
        if code == DocaError::TOO_BIG && length > bytes.len() {
            bytes.resize(length, 0);
            (code, length) = ask(&mut bytes);
        }
        check(code, || what).map_err(|error| error.why(self.failure()))?;
        let read = section::read(bytes.get(..length).unwrap_or_default());
        read.map_err(|error| Error::new(DocaError::IO_FAILED, what).caused_by(error))
    }

    pub(super) fn cpus(&self) -> Result<CpuSet> {
        // SAFETY: the service is live, and the pointer is to a local variable.
        get(
            CpuSet::empty(),
            || "asking the service for its CPUs",
            |cpus| unsafe {
                (self.api().doca_urom_service_get_cpuset)(self.service.as_ptr(), cpus)
            },
        )
    }

    pub(super) fn progress(&self) {
        while self.engine.pump() {}
    }

    /// Sleeps until the service or `bell` has news.
    pub(super) fn sleep(&self, bell: RawFd, limit: Option<Duration>) {
        let mut set = PollSet::take();
        set.add(bell);
        if self.engine.request_notification().is_ok() {
            set.add(self.engine.as_fd().as_raw_fd());
            set.poll(limit);
        } else {
            set.poll(Some(Duration::from_millis(1)));
        }
        // An engine that cannot be cleared stays readable: the next sleep is short.
        let _ = self.engine.clear_notification();
    }

    fn until(&self, done: impl Fn(CtxState) -> bool) {
        let deadline = Instant::now() + LIMIT;
        loop {
            self.progress();
            if done(self.state()) {
                return;
            }
            let Some(rest) = deadline.checked_duration_since(Instant::now()) else { return };
            // A negative descriptor is none.
            self.sleep(-1, Some(rest));
        }
    }
}

/// The error of a library that gives no reasons: what the program and the environment have set.
fn unexplained(code: DocaError, settings: &Settings) -> Error {
    let file = match std::env::var_os("DOCA_UROM_SERVICE_FILE") {
        Some(file) => format!("DOCA_UROM_SERVICE_FILE is {file:?}"),
        None => "DOCA_UROM_SERVICE_FILE is not set".to_owned(),
    };
    let (device, hint) = match &settings.device {
        Some(name) => (
            format!("the device is `{name}`"),
            "check that the file has a line for this host and the device's PCI address, and that \
             the daemon runs there",
        ),
        None => ("no device was named".to_owned(), "name one with Service::builder().device(..)"),
    };
    Error::new(code, settings.what())
        .why(format!("the library does not say why; {file}, and {device}"))
        .hint(hint)
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.state() != CtxState::IDLE {
            if let Err(error) = self.handle.stop(|| "stopping the service".to_owned()) {
                tracing::warn!("{error}");
            }
            self.until(|state| state == CtxState::IDLE);
        }
        // SAFETY: the service is live, and its workers are gone: each keeps its service's thread
        // from ending.
        let code = unsafe { (self.api().doca_urom_service_destroy)(self.service.as_ptr()) };
        if let Err(code) = code.check() {
            tracing::warn!("a service could not be destroyed and stays behind: {code}");
            // It still uses its device.
            std::mem::forget(self.device.take());
        }
    }
}
