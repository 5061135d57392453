//! The embedded service: the daemon and its workers on threads of this process, for tests and first steps.

use std::env;
use std::ffi::OsString;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tracing::error;
use urom_abi::DEFAULT_MAX_MESSAGE;
use urom_abi::cpu::{CpuSet, ParseCpuSetError};
use urom_abi::signals;

use crate::daemon::config::{DaemonConfig, process_cpus};
use crate::daemon::discovery::{PLUGIN_PATH_VARIABLE, entries};
use crate::daemon::{Launcher, serve};
use crate::key::Key;
use crate::log::Log;
use crate::threads::{Alive, wait_for_all};

/// Names the CPUs hosts are told of, as `uromd --cpus` does.
const CPUS_VARIABLE: &str = "UROM_CPUS";

/// What an embedded service starts with.
#[derive(Debug, Clone, Default)]
pub struct EmbeddedOptions {
    /// Where plugins lie, in place of `UROM_PLUGIN_PATH`. When neither is set, the service looks beside the running program
    /// (in the folder above when that is cargo's `deps` or `examples`).
    pub plugin_path: Option<OsString>,
    /// The message limit in bytes; 4096 by default.
    pub max_message: Option<usize>,
    /// The CPUs hosts are told of; those of the variable `UROM_CPUS` by default, else those of the process.
    pub cpus: Option<CpuSet>,
}

/// A running embedded service. Dropping it stops daemon and workers in order.
///
/// It is the same code as `uromd`, with a thread wherever that has a process. So environment and CPU set of a single
/// worker have no effect (a log line says so), and a plugin that crashes takes the process along.
///
/// Its warnings, and lines of its plugins down to `INFO`, go to standard error. A program with a `tracing` subscriber
/// gets them as events instead, those of plugins under the target `urom_plugin`.
#[derive(Debug)]
pub struct Embedded {
    address: SocketAddr,
    key: Key,
    running: Mutex<Option<Running>>,
}

/// The daemon's thread.
#[derive(Debug)]
struct Running {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

/// How long a process that exits waits for its services. One of their own threads may be what made it exit.
const EXIT_DEADLINE: Duration = Duration::from_secs(2);

/// The services that programs share, and how they were started.
static SHARED: Mutex<Vec<(Sharing, Weak<Embedded>)>> = Mutex::new(Vec::new());

/// What two programs have in common that share a service.
type Sharing = (Option<OsString>, usize, Option<CpuSet>);

impl Embedded {
    /// Starts a service on a free port of the loopback address.
    ///
    /// # Errors
    /// The operating system's: no port, no thread, no random numbers. `InvalidInput` when `UROM_CPUS` is no list of CPUs.
    pub fn start(options: EmbeddedOptions) -> io::Result<Embedded> {
        let cpus = match options.cpus {
            Some(cpus) => cpus,
            None => cpus_variable(env::var_os(CPUS_VARIABLE))?.map_or_else(process_cpus, Ok)?,
        };
        let key = Key::random()?;
        let config = DaemonConfig {
            key: Some(key.clone()),
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            max_message: options.max_message.unwrap_or(DEFAULT_MAX_MESSAGE),
            cpus,
            plugin_path: options.plugin_path.map(|path| entries(&path)).or_else(default_place),
            ..DaemonConfig::default()
        };
        let listener = std::net::TcpListener::bind(config.listen)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let alive = Alive::new();
        let daemon = move || {
            let _alive = alive;
            let _log = Log::embedded().install_if_none();
            let stopped = async {
                // Dropping the sender stops it too.
                let _ = stopped.await;
            };
            let served = runtime.block_on(async {
                serve(TcpListener::from_std(listener)?, config, Launcher::Thread, stopped).await
            });
            // A plugin that hangs while it is listed keeps its thread; it must not keep the host program.
            runtime.shutdown_background();
            if let Err(problem) = served {
                error!("the embedded service ended: {problem}");
            }
        };
        // The workers' threads inherit it from this one.
        let thread =
            signals::blocked(|| std::thread::Builder::new().name("urom-daemon".to_owned()).spawn(daemon))?;
        Ok(Embedded { address, key, running: Mutex::new(Some(Running { stop, thread })) })
    }

    /// The service of this process for a plugin path (`None`: see [`EmbeddedOptions::plugin_path`]), a message limit in bytes and the
    /// CPUs of `UROM_CPUS`: started on first use, stopped when its last user drops it, or the process exits.
    ///
    /// # Errors
    /// As [`start`](Embedded::start).
    pub fn shared(plugin_path: Option<OsString>, max_message: usize) -> io::Result<Arc<Embedded>> {
        let cpus = cpus_variable(env::var_os(CPUS_VARIABLE))?;
        let mut running = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|(_, service)| service.strong_count() > 0);
        let key = (plugin_path, max_message, cpus);
        let there = running.iter().find(|(of, _)| *of == key).and_then(|(_, service)| service.upgrade());
        if let Some(service) = there {
            return Ok(service);
        }
        let options = EmbeddedOptions { plugin_path: key.0.clone(), max_message: Some(max_message), cpus };
        let service = Arc::new(Embedded::start(options)?);
        stop_at_exit();
        running.push((key, Arc::downgrade(&service)));
        Ok(service)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What its hosts have to know: it was made for this process, so that no other user of the machine comes in.
    pub fn key(&self) -> &Key {
        &self.key
    }
}

impl Embedded {
    /// Its thread, once.
    fn take_running(&self) -> Option<Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        if let Some(Running { stop, thread }) = self.take_running() {
            drop(stop);
            // A panic there has been printed.
            let _ = thread.join();
        }
    }
}

/// Has the services that are shared stopped when the process exits: a host may leave without stopping anything, and UCX,
/// which goes then, must not go under their threads.
fn stop_at_exit() {
    REGISTERED.get_or_init(|| {
        // SAFETY: a function that stays, and that unwinds nowhere. When it cannot be registered, all is as without it.
        unsafe { libc::atexit(at_exit) };
        std::process::id()
    });
}

/// The process in which [`at_exit`] has something to do.
static REGISTERED: OnceLock<u32> = OnceLock::new();

extern "C" fn at_exit() {
    // A child by `fork` has none of the threads, and whatever they had locked stays so.
    if REGISTERED.get() != Some(&std::process::id()) {
        return;
    }
    let stopped = std::panic::catch_unwind(|| {
        let shared = SHARED.try_lock().map(|mut shared| std::mem::take(&mut *shared)).unwrap_or_default();
        for service in shared.iter().filter_map(|(_, service)| service.upgrade()) {
            drop(service.take_running());
        }
        wait_for_all(EXIT_DEADLINE);
    });
    // A panic was printed; the process ends anyway.
    drop(stopped);
}

/// Where cargo puts plugins that it builds together with this program, unless `UROM_PLUGIN_PATH` says where they are.
fn default_place() -> Option<Vec<PathBuf>> {
    if env::var_os(PLUGIN_PATH_VARIABLE).is_some_and(|path| !path.is_empty()) {
        return None;
    }
    Some(vec![beside(&env::current_exe().ok()?)?.to_owned()])
}

/// The directory in which cargo leaves the libraries of the build that a program is of.
fn beside(program: &Path) -> Option<&Path> {
    let directory = program.parent()?;
    let of_cargo = ["deps", "examples"].iter().any(|name| directory.ends_with(name));
    if of_cargo { directory.parent() } else { Some(directory) }
}

/// Reads `UROM_CPUS`; nothing when it is not set, or empty.
fn cpus_variable(value: Option<OsString>) -> io::Result<Option<CpuSet>> {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(None) };
    let wrong = |why: &str| {
        let text =
            format!("{CPUS_VARIABLE} is {value:?}, which is no list of CPUs: {why}; correct or unset it");
        io::Error::new(io::ErrorKind::InvalidInput, text)
    };
    let text = value.to_str().ok_or_else(|| wrong("it is not UTF-8"))?;
    text.parse().map(Some).map_err(|error: ParseCpuSetError| wrong(&error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugins_are_looked_for_where_cargo_puts_those_of_the_same_build() {
        for (program, directory) in [
            ("/t/debug/host", "/t/debug"),
            ("/t/debug/deps/host-0123", "/t/debug"),
            ("/t/debug/examples/host", "/t/debug"),
            ("/usr/bin/host", "/usr/bin"),
        ] {
            assert_eq!(beside(Path::new(program)), Some(Path::new(directory)), "{program}");
        }
    }

    #[test]
    fn the_cpu_variable_is_a_list_or_named_in_an_error() {
        assert_eq!(cpus_variable(None).unwrap(), None);
        assert_eq!(cpus_variable(Some("".into())).unwrap(), None);
        assert_eq!(cpus_variable(Some("0-7,9".into())).unwrap().unwrap().to_string(), "0-7,9");
        for bad in ["x", "7-0", "0-", "1024", "0;1"] {
            let error = cpus_variable(Some(bad.into())).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            let text = error.to_string();
            assert!(text.contains("UROM_CPUS") && text.contains(bad) && text.contains("0-3,6"), "{text}");
        }
    }
}
