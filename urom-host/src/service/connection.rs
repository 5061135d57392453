//! A service context in the library: one thread makes, progresses and destroys it.

use std::cell::OnceCell;
use std::ffi::c_char;
use std::ptr;
use std::time::Duration;

use urom_abi::DocaError;
use urom_abi::cpu::CpuSet;
use urom_abi::describe::section::{self, Description};
use urom_abi::host::{Api, CtxState, Service as RawService};
use urom_abi::plugin::PluginInfo;

use crate::context::{self, Functions, ObjectKind};
use crate::device::Device;
use crate::engine::ProgressEngine;
use crate::error::{Error, Result, check};
use crate::library::{Library, get};
use crate::owner::Owner;
use crate::service::settings::{ServiceSettings, ServiceSource};
use crate::wait;

const LIMIT: Duration = Duration::from_secs(10);

/// For a larger description the library reports the size.
const LIKELY_DESCRIPTION: usize = 16 << 10;

pub(super) type Connection = context::Context<ServiceObject>;

pub(super) struct ServiceObject {
    /// Closed after the service that uses it is destroyed.
    device: OnceCell<Device>,
}

impl ObjectKind for ServiceObject {
    type Raw = RawService;

    const KIND: &'static str = "the service";

    fn functions(api: &Api) -> Functions<RawService> {
        (api.doca_urom_service_create, api.doca_urom_service_as_ctx, api.doca_urom_service_destroy)
    }

    fn name(&self) -> String {
        "a service".to_owned()
    }
}

/// Starts a service. Each worker keeps the service's thread, so workers end first.
pub(super) fn open(library: Library, settings: &ServiceSettings) -> Result<Owner<ServiceObject>> {
    let engine = ProgressEngine::with_library(library)?;
    let connection = Owner::create(engine, ServiceObject { device: OnceCell::new() })?;
    connection.configure(settings)?;
    connection.connect(settings)?;
    Ok(connection)
}

impl Connection {
    fn configure(&self, settings: &ServiceSettings) -> Result<()> {
        let (api, service) = (self.api()?, self.object());
        if let Some(size) = settings.max_message_size {
            // SAFETY: `ServiceCore` owns the service and starts it after these calls.
            let code = unsafe { (api.doca_urom_service_set_max_comm_msg_size)(service, size) };
            check(code, || format!("setting the message size to {size}"))?;
        }
        if let Some(count) = settings.max_workers {
            // SAFETY: `ServiceCore` owns the service and starts it after these calls.
            let code = unsafe { (api.doca_urom_service_set_max_workers)(service, count) };
            check(code, || format!("setting the number of workers to {count}"))
                .map_err(|error| error.hint("it must be a power of two"))?;
        }
        if let Some(name) = &settings.device {
            let device = Device::open(self.library, name)?;
            // SAFETY: the service is live and idle, and the device stays open for its whole life.
            let code = unsafe { (api.doca_urom_service_set_dev)(service, device.as_ptr()) };
            check(code, || format!("giving device `{name}` to the service"))?;
            let _ = self.device.set(device);
        }
        if let Some(path) = &settings.key_file {
            let path = settings.c_path(path)?;
            let set = self.needed(
                self.extensions().urom_service_set_key_file,
                settings,
                "this libdoca_urom does not support a key file",
                "leave the key file out",
            )?;
            // SAFETY: the service is live and idle; the string outlives the call, which copies it.
            let code = unsafe { set(service, path.as_ptr()) };
            check(code, || settings.what()).map_err(|error| error.why(self.failure()))?;
        }
        self.select(settings)
    }

    fn needed<F>(
        &self,
        extension: Option<F>,
        settings: &ServiceSettings,
        why: &str,
        hint: &str,
    ) -> Result<F> {
        extension.ok_or_else(|| {
            Error::new(DocaError::NOT_SUPPORTED, settings.what())
                .why(why)
                .hint(format!("{hint}, or name this project's own library"))
        })
    }

    fn select(&self, settings: &ServiceSettings) -> Result<()> {
        let service = self.object();
        let extensions = self.extensions();
        let why = "this libdoca_urom takes its service from DOCA_UROM_SERVICE_FILE alone";
        let hint = "set that variable instead";
        let code = match &settings.source {
            // DOCA requires a device; this project's library uses any.
            ServiceSource::Environment => match extensions.urom_service_set_any_device {
                // SAFETY: `ServiceCore` owns the service and starts it after these calls.
                Some(set) if settings.device.is_none() => unsafe { set(service) },
                _ => return Ok(()),
            },
            ServiceSource::Address { address, origin } => {
                let (address, origin) = (settings.c_string(address)?, settings.c_string(origin)?);
                let set = extensions.urom_service_set_address;
                let set = self.needed(set, settings, why, hint)?;
                // SAFETY: the service is live and idle; the call copies the strings.
                unsafe { set(service, address.as_ptr(), origin.as_ptr()) }
            }
            ServiceSource::Embedded { plugin_path } => {
                let path = plugin_path.as_ref().map(|paths| settings.plugin_path(paths));
                let path = path.transpose()?;
                let path: *const c_char = path.as_ref().map_or(ptr::null(), |path| path.as_ptr());
                let set = extensions.urom_service_set_embedded;
                let set = self.needed(set, settings, why, hint)?;
                // SAFETY: the service is live and not started; the path outlives the call.
                unsafe { set(service, path) }
            }
        };
        check(code, || settings.what()).map_err(|error| error.why(self.failure()))
    }

    fn connect(&self, settings: &ServiceSettings) -> Result<()> {
        let failed = |code| match self.failure() {
            // The library's reason already names the service.
            why if !why.is_empty() => Error::new(code, "connecting to the service").why(why),
            _ if !self.library.is_own() => unexplained(code, settings),
            _ => Error::new(code, settings.what()),
        };
        self.begin_start().map_err(failed)?;
        let is_over = || self.state().is_ok_and(|state| state != CtxState::STARTING);
        if !wait::wait_until(LIMIT, is_over) {
            return Err(failed(DocaError::TIME_OUT));
        }
        if self.is_running() { Ok(()) } else { Err(failed(DocaError::NOT_CONNECTED)) }
    }

    pub(super) fn is_running(&self) -> bool {
        self.state().is_ok_and(|state| state == CtxState::RUNNING)
    }

    pub(super) fn plugins(&self) -> Result<Vec<(PluginInfo, Option<u64>)>> {
        let (api, mut plugins, mut count) = (self.api()?, ptr::null(), 0);
        // SAFETY: the service is live, and the pointers are to local variables.
        let code = unsafe {
            (api.doca_urom_service_get_plugins_list)(self.object(), &mut plugins, &mut count)
        };
        if code == DocaError::NOT_FOUND {
            return Ok(Vec::new());
        }
        check(code, || "asking the service for its plugins")?;
        if count == 0 || plugins.is_null() {
            return Ok(Vec::new());
        }
        // SAFETY: the library's array has `count` entries, and lives as long as the service runs.
        let plugins = unsafe { std::slice::from_raw_parts(plugins, count) };
        plugins.iter().map(|info| Ok((*info, self.fingerprint(info.id)?))).collect()
    }

    fn fingerprint(&self, plugin: u64) -> Result<Option<u64>> {
        let get = self.extensions().urom_service_get_plugin_fingerprint;
        let Some(get) = get else { return Ok(None) };
        let mut fingerprint = 0;
        // SAFETY: the service is live and runs, and the pointer is to a local variable.
        let code = unsafe { get(self.object(), plugin, &mut fingerprint) };
        if code == DocaError::NOT_FOUND {
            return Ok(None);
        }
        check(code, || "asking the service for a plugin's fingerprint")?;
        Ok(Some(fingerprint))
    }

    /// Blocks this thread for at most some seconds.
    pub(super) fn description(&self, plugin: u64) -> Result<Description> {
        let what = "asking the service for a plugin's description";
        let get = self.extensions().urom_service_get_plugin_description;
        let get = get.ok_or_else(|| Error::new(DocaError::NOT_SUPPORTED, what))?;
        let mut bytes = vec![0u8; LIKELY_DESCRIPTION];
        let ask = |bytes: &mut Vec<u8>| {
            let mut length = bytes.len();
            // SAFETY: the service is live; `bytes` has `length` bytes, a local variable.
            let code =
                unsafe { get(self.object(), plugin, bytes.as_mut_ptr().cast(), &mut length) };
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
        let api = self.api()?;
        // SAFETY: the service is live, and the pointer is to a local variable.
        get(
            CpuSet::empty(),
            || "asking the service for its CPUs",
            |cpus| unsafe { (api.doca_urom_service_get_cpuset)(self.object(), cpus) },
        )
    }
}

/// The error of a library without reasons: names the settings.
fn unexplained(code: DocaError, settings: &ServiceSettings) -> Error {
    let file = std::env::var_os("DOCA_UROM_SERVICE_FILE");
    let has_file = file.as_ref().is_some_and(|file| !file.is_empty());
    let file = match file {
        Some(file) => format!("DOCA_UROM_SERVICE_FILE is {file:?}"),
        None => "DOCA_UROM_SERVICE_FILE is not set".to_owned(),
    };
    let (device, hint) = match &settings.device {
        Some(name) if !has_file => {
            (format!("the device is `{name}`"), "set DOCA_UROM_SERVICE_FILE to DOCA's service file")
        }
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
