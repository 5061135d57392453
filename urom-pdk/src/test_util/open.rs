//! The ways to a worker with an open plugin: by its handler's type, by its methods, by its file.

use std::path::Path;

use urom_abi::DocaError;
use urom_abi::extension::{PluginExtension, Words};
use urom_abi::plugin::PluginIface;
use urom_abi::protocol::{Protocol, Serve};

use super::domain::Domain;
use super::instance::Instance;
use super::library;
use super::worker::Worker;
use crate::__private::{extension, get_iface};
use crate::Side;

impl<P: Protocol> Worker<P> {
    /// Opens a plugin with handler `T`, through the code behind `urom_plugin_get_iface`, in a
    /// worker without a domain. Panics when it does not open: see [`try_open`](Self::try_open).
    #[track_caller]
    pub fn open<T: 'static>() -> Worker<P>
    where
        P: Serve<Side, T>,
    {
        Worker::try_open::<T>()
            .unwrap_or_else(|code| panic!("plugin {} did not open: {code}", P::NAME))
    }

    /// The same, for plugins that may fail to.
    ///
    /// # Errors
    /// What the handler's `open` or `address` failed with.
    pub fn try_open<T: 'static>() -> Result<Worker<P>, DocaError>
    where
        P: Serve<Side, T>,
    {
        // SAFETY: an interface of this kit.
        unsafe { Worker::start(methods::<T, P>(), true, &Domain::new()) }
    }

    /// Opens a plugin as member `id` of a domain: [`Domain::open`], for plugins that may fail to.
    pub fn try_open_in<T: 'static>(domain: &Domain, id: u64) -> Result<Worker<P>, DocaError>
    where
        P: Serve<Side, T>,
    {
        // SAFETY: an interface of this kit.
        let worker = unsafe { Worker::start(methods::<T, P>(), true, domain) }?;
        worker.join(id);
        Ok(worker)
    }

    /// Opens a plugin that speaks `P` by its interface alone, as NVIDIA's worker does, such as one
    /// in C that is linked into the test. The kit cannot see what such a plugin frees, so it
    /// reports no memory as kept; a plugin library of this kit has a clock of its own, which runs.
    ///
    /// # Errors
    /// What its `open` or `addr` gave; `INITIALIZATION` when it lacks a method, or the version word
    /// `api_version`.
    ///
    /// # Safety
    /// The interface is that of a plugin, all of whose methods may be called on this thread for as
    /// long as the worker lives. What it appends to lists is what DOCA's interface says.
    pub unsafe fn from_iface(iface: PluginIface, domain: &Domain) -> Result<Worker<P>, DocaError> {
        // SAFETY: the caller vouches that the functions are a plugin's.
        unsafe { Worker::start((iface, PluginExtension::NONE), false, domain) }
    }

    /// Loads a plugin library, `.so`, which speaks `P`, and opens the plugin, as a worker does. It
    /// stays loaded until the process ends. Otherwise as [`from_iface`](Self::from_iface).
    ///
    /// # Errors
    /// What its functions gave; `NOT_FOUND` for a file that cannot be loaded or lacks a function,
    /// and `UNSUPPORTED_VERSION` for another version of the protocol, or another layout of its
    /// messages. A log line says more.
    ///
    /// # Safety
    /// The library is a plugin, and its constructors and methods may run on this thread.
    pub unsafe fn load(file: impl AsRef<Path>, domain: &Domain) -> Result<Worker<P>, DocaError> {
        // SAFETY: the caller vouches that the file is a plugin.
        let methods = unsafe { library::methods(file.as_ref(), P::DESCRIPTION) }?;
        // SAFETY: `library::methods` took the functions from the caller's plugin.
        unsafe { Worker::start(methods, false, domain) }
    }

    /// The same as [`from_iface`](Self::from_iface) for a plugin in Rust that frees its commands
    /// through the `urom-abi` of this program: memory is checked.
    ///
    /// # Safety
    /// As for [`from_iface`](Self::from_iface).
    pub unsafe fn from_watched_iface(
        iface: PluginIface,
        domain: &Domain,
    ) -> Result<Worker<P>, DocaError> {
        // SAFETY: the caller vouches that the functions are a plugin's.
        unsafe { Worker::start((iface, PluginExtension::NONE), true, domain) }
    }

    /// # Safety
    /// As for [`from_iface`](Self::from_iface).
    unsafe fn start(
        methods: (PluginIface, PluginExtension),
        is_watched: bool,
        domain: &Domain,
    ) -> Result<Worker<P>, DocaError> {
        // SAFETY: the caller vouches that the functions are a plugin's.
        unsafe { Instance::open(methods, P::DESCRIPTION, is_watched, domain.world()) }
            .map(Worker::around)
    }
}

fn methods<T: 'static, P: Protocol + Serve<Side, T>>() -> (PluginIface, PluginExtension) {
    (iface::<T, P>(), extension::<T, P>(|| unreachable!()))
}

/// The interface of a plugin, as its `urom_plugin_get_iface` fills it in: for tests that call the
/// methods themselves.
pub fn iface<T: 'static, P: Protocol + Serve<Side, T>>() -> PluginIface {
    let mut iface = PluginIface::EMPTY;
    // SAFETY: a structure of this frame.
    let code = unsafe { get_iface::<T, P>(|| unreachable!(), &mut iface) };
    assert_eq!(code, DocaError::SUCCESS, "an interface of this kit is filled in");
    iface
}
