//! The settings of a connection to a service.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::engine::ProgressEngine;
use crate::error::{Error, Result};
use crate::library::{self, Library};
use crate::pending::Pending;
use crate::service::core::Connecting;
use crate::service::settings::{ServiceSettings, ServiceSource};
use crate::service::{Service, ServiceHandle};

/// A builder of a connection: [`Service::builder`] makes it, [`connect`](Self::connect) connects.
///
/// [`address`](Self::address) or [`embedded`](Self::embedded) select the service. Otherwise
/// `DOCA_UROM_SERVICE_FILE` names this host's daemon; without that variable the service is
/// embedded. [`library`](Self::library) or the [`engine`](Self::engine) select the library; the
/// default is [`Library::find`].
///
/// ```no_run
/// # use urom_host::{Library, Service, Result};
/// # fn main() -> Result<()> {
/// // A daemon, with the key that it asks for. An error says where the address came from.
/// let address = std::env::args().nth(1).unwrap_or("dpu0:5555".into());
/// let builder = Service::builder().address_from(address, "the first argument");
/// let service = builder.key_file("/etc/urom/key").max_workers(8).connect_blocking()?;
///
/// // A service in this process, for commands of up to 64 KiB.
/// let service = Service::builder().embedded().max_message_size(24 + 65_536).connect_blocking()?;
/// let plugins = ["target/debug", "/opt/plugins"];
/// let service = Service::builder().plugin_paths(plugins).connect_blocking()?;
///
/// // NVIDIA's library, which demands a device.
/// // SAFETY: the file is DOCA's.
/// let library = unsafe { Library::load("libdoca_urom.so.2") }?;
/// let service = Service::builder().device("mlx5_0").library(library).connect_blocking()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use = "nothing is connected before `connect`"]
pub struct ServiceBuilder {
    library: Option<Library>,
    settings: ServiceSettings,
    engine: Option<ProgressEngine>,
}

impl ServiceBuilder {
    pub(super) fn new() -> ServiceBuilder {
        ServiceBuilder { library: None, settings: ServiceSettings::default(), engine: None }
    }

    /// Sets the library to connect with, regardless of the environment.
    pub fn library(mut self, library: Library) -> Self {
        self.library = Some(library);
        self
    }

    /// The daemon at `host:port`, or at `@file`, a file written by `uromd --address-file`.
    pub fn address(self, address: impl Into<String>) -> Self {
        self.address_from(address, "Service::builder().address")
    }

    /// As [`address`](Self::address), with its origin for error messages, such as a variable.
    pub fn address_from(mut self, address: impl Into<String>, origin: impl Into<String>) -> Self {
        self.settings.source =
            ServiceSource::Address { address: address.into(), origin: origin.into() };
        self
    }

    /// The service in this process, regardless of the environment. Plugins come from
    /// `UROM_PLUGIN_PATH`; if unset or empty, from the running program's directory, where cargo
    /// writes its plugins (for a program in cargo's `deps` or `examples`, from the parent).
    ///
    /// Daemon and workers are threads with the program's environment and CPUs, for tests.
    pub fn embedded(mut self) -> Self {
        self.settings.source = ServiceSource::Embedded { plugin_path: None };
        self
    }

    /// The [embedded](Self::embedded) service with plugins from these directories and files.
    ///
    /// A file `NAME.so` is the plugin `NAME`, and so is cargo's `libNAME.so` if the file states
    /// that name. Their code runs unchecked in this process: use only paths that you would take the
    /// program itself from. [`connect`](Self::connect) refuses a path with `;`.
    pub fn plugin_paths<P: AsRef<Path>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        let paths = paths.into_iter().map(|path| path.as_ref().to_owned()).collect();
        self.settings.source = ServiceSource::Embedded { plugin_path: Some(paths) };
        self
    }

    /// As [`plugin_paths`](Self::plugin_paths), with the paths separated by `;`.
    #[deprecated(note = "use `plugin_paths([..])`, which takes any iterator of paths")]
    pub fn load_plugins_from(self, directories: impl Into<PathBuf>) -> Self {
        let paths = directories.into().into_os_string().into_vec();
        self.plugin_paths(paths.split(|byte| *byte == b';').map(OsStr::from_bytes))
    }

    /// The device, such as `mlx5_0` (`doca_urom_service_set_dev`); see [`devices`](crate::devices).
    /// NVIDIA's library requires one.
    pub fn device(mut self, name: impl Into<String>) -> Self {
        self.settings.device = Some(name.into());
        self
    }

    /// The key file, by default `UROM_KEY_FILE`: a copy of the daemon's (`uromd --key-file`), owned
    /// by this program's user with mode 0600. [`connect`](Self::connect) reads it.
    ///
    /// A daemon on a non-loopback address always requires a key. A program with a key refuses a
    /// daemon that requires none. An [embedded](Self::embedded) service needs no key.
    pub fn key_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.settings.key_file = Some(path.into());
        self
    }

    /// The most workers of this connection (`doca_urom_service_set_max_workers`): a power of two.
    pub fn max_workers(mut self, workers: u32) -> Self {
        self.settings.max_workers = Some(workers);
        self
    }

    /// The largest message in bytes (`doca_urom_service_set_max_comm_msg_size`): 24 bytes of header
    /// and the command, or 32 bytes of header and the notification. The default is 4096; the
    /// smaller of the host's and the service's limit applies.
    ///
    /// An [embedded](Self::embedded) service takes this limit; connections of one process share it
    /// if their limits are equal. For a daemon, see `uromd --max-msg-size`.
    pub fn max_message_size(mut self, bytes: usize) -> Self {
        self.settings.max_message_size = Some(bytes);
        self
    }

    /// The engine of this thread for the service's workers; the default is a new one. The service
    /// uses the engine's library; naming another one is an error.
    pub fn engine(mut self, engine: &ProgressEngine) -> Self {
        self.engine = Some(engine.clone());
        self
    }

    /// Connects (`doca_ctx_start`). The future resolves when the service answered: within about 5 s
    /// with this project's library, 10 s with others. A drop abandons the connection.
    ///
    /// # Errors
    /// The errors of [`Library::find`]; then, with the library's reason: `INVALID_VALUE` for an
    /// invalid setting, `NOT_FOUND` for an unknown device, `NOT_SUPPORTED` for an address, a key
    /// file or an embedded service with another project's library, `NOT_CONNECTED` and similar
    /// codes when no daemon answers, `AUTHENTICATION` for a missing or wrong key, `NOT_PERMITTED`
    /// for a key file that others may read. The text names the file of a loaded library.
    pub fn connect(self) -> Pending<Service> {
        let library = self.choose();
        let begun = library.and_then(|library| {
            let begin = || {
                let engine = match self.engine {
                    Some(engine) => engine.checked(library, "connecting to the service")?,
                    None => ProgressEngine::with_library(library)?,
                };
                Ok((library, engine, Connecting::begin(library, self.settings)?))
            };
            begin().map_err(|error: Error| error.through(library.file()))
        });
        Pending::new(async move {
            let (library, engine, connecting) = begun?;
            let core = connecting.end().await;
            let core = core.map_err(|error| error.through(library.file()))?;
            Ok(Service { handle: ServiceHandle::of(Arc::new(core)), engine })
        })
    }

    /// [`connect`](Self::connect), and blocks until the service has answered.
    ///
    /// # Errors
    /// As [`connect`](Self::connect); `BAD_STATE` inside a completion callback.
    ///
    /// # Panics
    /// With the panic of a callback that ran meanwhile.
    pub fn connect_blocking(self) -> Result<Service> {
        self.connect().wait()
    }

    fn choose(&self) -> Result<Library> {
        match (self.library, &self.engine) {
            (Some(library), _) => Ok(library),
            (None, Some(engine)) => Ok(engine.library()),
            (None, None) => {
                let is_selected = !matches!(self.settings.source, ServiceSource::Environment);
                library::find(is_selected || self.settings.key_file.is_some())
            }
        }
    }
}
