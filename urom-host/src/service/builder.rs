//! Which service to connect to, and how.

use std::path::PathBuf;

use crate::engine::ProgressEngine;
use crate::error::{Error, Result};
use crate::library::{self, Library};
use crate::service::core::ServiceCore;
use crate::service::settings::{ServicePlace, ServiceSettings};
use crate::service::{Service, ServiceHandle};

/// A service that is to be connected to: made by [`Service::builder`], ended by
/// [`connect`](Self::connect).
///
/// [`address`](Self::address) or [`embedded`](Self::embedded) say where the service is. Otherwise
/// `DOCA_UROM_SERVICE_FILE` names the daemon for this host, and without that variable the service
/// is embedded. [`library`](Self::library) or the [`engine`](Self::engine) say which library
/// connects. Otherwise [`Library::find`] finds it.
///
/// ```no_run
/// # use urom_host::{Library, Service, Result};
/// # fn main() -> Result<()> {
/// // A daemon, with the key that it asks for. An error says where the address came from.
/// let address = std::env::args().nth(1).unwrap_or("dpu0:5555".into());
/// let builder = Service::builder().address_from(address, "the first argument");
/// let service = builder.key_file("/etc/urom/key").max_workers(8).connect()?;
///
/// // A service in this process, for commands of up to 64 KiB.
/// let service = Service::builder().embedded().max_message_size(24 + 65_536).connect()?;
/// let plugins = "target/debug;/opt/plugins";
/// let service = Service::builder().load_plugins_from(plugins).connect()?;
///
/// // NVIDIA's library, which demands a device.
/// // SAFETY: the file is DOCA's.
/// let library = unsafe { Library::load("libdoca_urom.so.2") }?;
/// let service = Service::builder().device("mlx5_0").library(library).connect()?;
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

    /// The library to connect with, whatever the environment says.
    pub fn library(mut self, library: Library) -> Self {
        self.library = Some(library);
        self
    }

    /// The daemon at `host:port`, or at the address in a file that `uromd --address-file` wrote:
    /// `@file`.
    pub fn address(self, address: impl Into<String>) -> Self {
        self.address_from(address, "Service::builder().address")
    }

    /// The daemon at `host:port`, or `@file`. Error messages name `origin`, where the address came
    /// from: an option or a variable.
    pub fn address_from(mut self, address: impl Into<String>, origin: impl Into<String>) -> Self {
        self.settings.place =
            ServicePlace::Address { address: address.into(), origin: origin.into() };
        self
    }

    /// The service in this process, whatever the environment says. Plugins come from
    /// `UROM_PLUGIN_PATH`. When that is unset or empty, they come from the running program's
    /// directory, where cargo leaves those that it builds (for a program in cargo's `deps` or
    /// `examples`, the directory above).
    ///
    /// It runs the code of the daemon and the workers on threads: right for tests and first steps.
    /// Workers there have no environment and no CPUs of their own.
    pub fn embedded(mut self) -> Self {
        self.settings.place = ServicePlace::Embedded { plugin_path: None };
        self
    }

    /// The [embedded](Self::embedded) service with plugins from these directories and files,
    /// separated by `;`.
    ///
    /// A file `NAME.so` is the plugin `NAME`. So is `libNAME.so`, cargo's name for it, when the
    /// file states that name. Their code runs in this process, which cannot check it: name places
    /// that you would take the program itself from.
    pub fn load_plugins_from(mut self, directories: impl Into<PathBuf>) -> Self {
        self.settings.place = ServicePlace::Embedded { plugin_path: Some(directories.into()) };
        self
    }

    /// The device, by its InfiniBand name such as `mlx5_0` (`doca_urom_service_set_dev`);
    /// [`devices`](crate::devices) lists them. NVIDIA's library demands one.
    pub fn device(mut self, name: impl Into<String>) -> Self {
        self.settings.device = Some(name.into());
        self
    }

    /// The file with the key that the daemon asks for; otherwise `UROM_KEY_FILE` names it. It is a
    /// copy of the daemon's (`uromd --key-file`), belongs to this program's user and has mode 0600.
    /// [`connect`](Self::connect) reads it.
    ///
    /// A daemon on an address other than loopback always asks for a key. A program that has a key
    /// does not connect to a daemon that asks for none. An [embedded](Self::embedded) service needs
    /// none.
    pub fn key_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.settings.key_file = Some(path.into());
        self
    }

    /// How many workers this connection may have (`doca_urom_service_set_max_workers`): a power of
    /// two.
    pub fn max_workers(mut self, workers: u32) -> Self {
        self.settings.max_workers = Some(workers);
        self
    }

    /// The largest message in bytes (`doca_urom_service_set_max_comm_msg_size`): 24 bytes of header
    /// and the command, or 32 bytes of header and the notification. The default is 4096; the
    /// smaller of the host's and the service's limit counts.
    ///
    /// An [embedded](Self::embedded) service takes the same limit; connections of one process share
    /// an embedded service when their limits are equal. A daemon has its own,
    /// `uromd --max-msg-size`.
    pub fn max_message_size(mut self, bytes: usize) -> Self {
        self.settings.max_message_size = Some(bytes);
        self
    }

    /// The engine for the service's workers, one of this thread; otherwise it gets a new one. The
    /// service uses the engine's library; naming another one is an error.
    pub fn engine(mut self, engine: &ProgressEngine) -> Self {
        self.engine = Some(engine.clone());
        self
    }

    /// Connects (`doca_ctx_start`): blocks until the service has answered, at most about five
    /// seconds.
    ///
    /// # Errors
    /// As [`Library::find`]; then, with the library's own words where it has
    /// some: `INVALID_VALUE` for an invalid setting, `NOT_FOUND` for an unknown device,
    /// `NOT_SUPPORTED` for an address, a key file or an embedded service when the library is not
    /// this project's own, `NOT_CONNECTED` and the like when no daemon answers, `AUTHENTICATION`
    /// when a key is missing or wrong, `NOT_PERMITTED` for a key file that others may read. The
    /// text names the file of a library that was loaded.
    pub fn connect(self) -> Result<Service> {
        let library = self.choose()?;
        let connect = || {
            let engine = match self.engine {
                Some(engine) => engine.checked(library, "connecting to the service")?,
                None => ProgressEngine::with_library(library)?,
            };
            let handle = ServiceHandle::new(ServiceCore::connect(library, self.settings)?);
            Ok(Service { handle, engine })
        };
        connect().map_err(|error: Error| error.through(library.file()))
    }

    fn choose(&self) -> Result<Library> {
        match (self.library, &self.engine) {
            (Some(library), _) => Ok(library),
            (None, Some(engine)) => Ok(engine.library()),
            (None, None) => {
                let is_placed = !matches!(self.settings.place, ServicePlace::Environment);
                library::find(is_placed || self.settings.key_file.is_some())
            }
        }
    }
}
