//! Opens a worker's plugin: by its handler's type, its methods or its file.

use std::path::Path;

use urom_abi::extension::{PluginExtension, Words};
use urom_abi::plugin::PluginIface;
use urom_abi::protocol::{Protocol, Serve};
use urom_abi::{DocaError, DocaStatus};

use super::domain::Domain;
use super::instance::TestInstance;
use super::library;
use super::worker::Worker;
use crate::__private::{extension, get_iface};
use crate::Side;

impl<P: Protocol> Worker<P> {
    /// Opens a plugin with handler `T` in a worker without a domain, through the code of
    /// `urom_plugin_get_iface`. Panics on failure: see [`try_open`](Self::try_open).
    #[track_caller]
    pub fn open<T: 'static>() -> Worker<P>
    where
        P: Serve<Side, T>,
    {
        Worker::try_open::<T>()
            .unwrap_or_else(|code| panic!("plugin {} did not open: {code}", P::NAME))
    }

    /// As [`open`](Self::open), for plugins that may fail to open.
    ///
    /// # Errors
    /// The code of the handler's `open` or `address`.
    pub fn try_open<T: 'static>() -> Result<Worker<P>, DocaError>
    where
        P: Serve<Side, T>,
    {
        // SAFETY: an interface of this kit.
        unsafe { Worker::start(methods::<T, P>(), true, &Domain::new()) }
    }

    /// Opens a plugin as member `id`: as [`Domain::open`], for plugins that may fail to open.
    pub fn try_open_in<T: 'static>(domain: &Domain, id: u64) -> Result<Worker<P>, DocaError>
    where
        P: Serve<Side, T>,
    {
        // SAFETY: an interface of this kit.
        let worker = unsafe { Worker::start(methods::<T, P>(), true, domain) }?;
        worker.join(id);
        Ok(worker)
    }

    /// Opens a plugin of the protocol `P` only by its interface, as NVIDIA's worker does, such as a
    /// plugin in C that is linked into the test. The kit cannot see its frees, so it does not
    /// report leaks. A plugin library of this kit has its own clock, which runs.
    ///
    /// # Errors
    /// The code of its `open` or `addr`; `INITIALIZATION` for an incomplete interface.
    ///
    /// # Safety
    /// The interface belongs to a plugin whose methods may be called on this thread during the
    /// worker's life. The plugin's lists follow DOCA's interface.
    pub unsafe fn from_iface(iface: PluginIface, domain: &Domain) -> Result<Worker<P>, DocaError> {
        // SAFETY: the caller guarantees that the functions are a plugin's.
        unsafe { Worker::start((iface, PluginExtension::NONE), false, domain) }
    }

    /// Loads a plugin library (`.so`) of the protocol `P` and opens the plugin, like a worker. The
    /// library stays loaded. Otherwise as [`from_iface`](Self::from_iface).
    ///
    /// # Errors
    /// The codes of its functions; `NOT_FOUND` for a file that cannot be loaded or lacks a
    /// function, and `UNSUPPORTED_VERSION` for another protocol version or layout. See the log.
    ///
    /// # Safety
    /// The library is a plugin, and its constructors and methods may run on this thread.
    pub unsafe fn load(file: impl AsRef<Path>, domain: &Domain) -> Result<Worker<P>, DocaError> {
        // SAFETY: the caller guarantees that the file is a plugin.
        let methods = unsafe { library::methods(file.as_ref(), P::DESCRIPTION) }?;
        // SAFETY: `library::methods` took the functions from the caller's plugin.
        unsafe { Worker::start(methods, false, domain) }
    }

    /// As [`from_iface`](Self::from_iface), for a plugin in Rust that frees its commands through
    /// this program's `urom-abi`: memory is checked.
    ///
    /// # Safety
    /// As for [`from_iface`](Self::from_iface).
    pub unsafe fn from_watched_iface(
        iface: PluginIface,
        domain: &Domain,
    ) -> Result<Worker<P>, DocaError> {
        // SAFETY: the caller guarantees that the functions are a plugin's.
        unsafe { Worker::start((iface, PluginExtension::NONE), true, domain) }
    }

    /// # Safety
    /// As for [`from_iface`](Self::from_iface).
    unsafe fn start(
        methods: (PluginIface, PluginExtension),
        is_watched: bool,
        domain: &Domain,
    ) -> Result<Worker<P>, DocaError> {
        // SAFETY: the caller guarantees that the functions are a plugin's.
        unsafe { TestInstance::open(methods, P::DESCRIPTION, is_watched, domain.world()) }
            .map(Worker::around)
    }
}

fn methods<T: 'static, P: Protocol + Serve<Side, T>>() -> (PluginIface, PluginExtension) {
    (iface::<T, P>(), extension::<T, P>(|| unreachable!()))
}

/// Returns a plugin's interface, for tests that call the methods themselves.
pub fn iface<T: 'static, P: Protocol + Serve<Side, T>>() -> PluginIface {
    let mut iface = PluginIface::EMPTY;
    // SAFETY: a writable structure.
    let status = unsafe { get_iface::<T, P>(|| unreachable!(), &mut iface) };
    assert_eq!(status, DocaStatus::SUCCESS, "an interface of this kit is filled in");
    iface
}
