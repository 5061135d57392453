//! The embedded service: daemon and workers on threads of this process, for tests and first steps.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Once, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tracing::error;
use urom_abi::DEFAULT_MAX_MESSAGE;
use urom_abi::cpu::{CpuSet, ParseCpuSetError};
use urom_os::fork::{Maker, PerProcess};
use urom_os::signals;
use urom_wire::control::PLUGIN_PATH_VARIABLE;
use urom_wire::key::Key;
use urom_wire::peer_timeout::PeerTimeout;

use crate::daemon::DaemonArgs;
use crate::daemon::config::{DaemonConfig, process_cpus};
use crate::daemon::descriptors;
use crate::daemon::discovery::{entries, path_of_environment};
use crate::daemon::{Launcher, Manager, serve};
use crate::freshness;
use crate::log::Log;
use crate::threads::{RunningThread, wait_for_all};

/// The CPU set that hosts see, like `uromd --cpus`.
const CPUS_VARIABLE: &str = "UROM_CPUS";

/// Options of an embedded service.
#[derive(Debug, Clone, Default)]
pub struct EmbeddedOptions {
    /// Plugin path, instead of `UROM_PLUGIN_PATH`. When neither is set, the service looks beside
    /// the running program (in the parent directory if this is cargo's `deps` or `examples`).
    pub plugin_path: Option<OsString>,
    /// Message limit in bytes; 4096 by default.
    pub max_message: Option<usize>,
    /// The CPU set that hosts see; by default the set in `UROM_CPUS`, else the process's CPUs.
    pub cpus: Option<CpuSet>,
}

/// A running embedded service. Dropping it stops the daemon and the workers in order.
///
/// It runs the code of `uromd` with threads instead of processes. A worker's environment and CPU
/// set have no effect (a log line reports this), and a crashing plugin ends the process.
///
/// The service lists a plugin of this kit from its file. It must load any other plugin, on a
/// thread. If loading hangs, that thread keeps the loader's lock: the process can then load nothing
/// else, start no worker and not exit. A warning names the plugin after two seconds; in `uromd`
/// such a plugin does no harm. A replaced file is loaded only after the program restarts.
///
/// The service's warnings, and plugin lines down to `INFO`, go to standard error. A program with a
/// `tracing` subscriber gets events instead; plugin events have the target `urom_plugin`.
#[derive(Debug)]
pub struct Embedded {
    address: SocketAddr,
    key: Key,
    running: Mutex<Option<(oneshot::Sender<()>, JoinHandle<()>)>>,
    maker: Maker,
}

/// How long an exiting process waits for its services. One of their threads may have called `exit`.
const EXIT_DEADLINE: Duration = Duration::from_secs(2);

static SHARED: PerProcess<Mutex<Vec<SharedInstance>>> = PerProcess::new(Mutex::default);

type SharedInstance = ((Option<OsString>, usize, Option<CpuSet>), Weak<Embedded>);

impl Embedded {
    /// Starts a service on a free port of the loopback address.
    ///
    /// # Errors
    /// Without a port, a thread, random numbers or descriptors: the operating system's error.
    /// `InvalidInput` when `UROM_CPUS` is not a CPU list.
    pub fn start(options: EmbeddedOptions) -> io::Result<Embedded> {
        ucx::require_descriptors(descriptors::OWN)?;
        let cpus = match options.cpus {
            Some(cpus) => cpus,
            None => cpus_variable(env::var_os(CPUS_VARIABLE))?.map_or_else(process_cpus, Ok)?,
        };
        let key = Key::random()?;
        let args = DaemonArgs {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            max_message: options.max_message.unwrap_or(DEFAULT_MAX_MESSAGE),
            // Has no effect on threads of the host's process.
            worker_env_allow: vec!["*".to_owned()],
            ..DaemonArgs::default()
        };
        let listener = std::net::TcpListener::bind(args.listen)?;
        let config = DaemonConfig {
            key: Some(key.clone()),
            plugin_path: Some(search_path(options.plugin_path.as_deref()))
                .filter(|paths| !paths.is_empty()),
            // Peer and service pause together: they share the process.
            peer_timeout: PeerTimeout::OFF,
            ..DaemonConfig::new(args, cpus)
        };
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let alive = RunningThread::new();
        let daemon = move || {
            let _alive = alive;
            let _log = Log::embedded().install_if_none();
            let stopped = async {
                let _ = stopped.await;
            };
            let served = runtime.block_on(async {
                serve(
                    TcpListener::from_std(listener)?,
                    Arc::new(config),
                    Launcher::Thread,
                    Manager::default(),
                    |_| (),
                    stopped,
                )
                .await
            });
            // A plugin that hangs during listing keeps its thread, but not the host program.
            runtime.shutdown_background();
            if let Err(problem) = served {
                error!("the embedded service ended: {problem}");
            }
            Log::flush();
        };
        // The worker threads inherit the signal mask from this thread.
        let thread = signals::spawn("urom-daemon", daemon)?;
        let running = Mutex::new(Some((stop, thread)));
        Ok(Embedded { address, key, running, maker: Maker::here() })
    }

    /// Returns the process's service for a plugin path (`None`: see
    /// [`EmbeddedOptions::plugin_path`]), a message limit in bytes and the CPUs of `UROM_CPUS`. It
    /// starts on first use, and stops when its last user drops it or the process exits.
    ///
    /// # Errors
    /// See [`start`](Embedded::start).
    pub fn shared(plugin_path: Option<OsString>, max_message: usize) -> io::Result<Arc<Embedded>> {
        let cpus = cpus_variable(env::var_os(CPUS_VARIABLE))?;
        let mut running = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|(_, service)| service.strong_count() > 0);
        let key = (plugin_path, max_message, cpus);
        let there =
            running.iter().find(|(of, _)| *of == key).and_then(|(_, service)| service.upgrade());
        if let Some(service) = there {
            return Ok(service);
        }
        let options =
            EmbeddedOptions { plugin_path: key.0.clone(), max_message: Some(max_message), cpus };
        let service = Arc::new(Embedded::start(options)?);
        stop_at_exit();
        running.push((key, Arc::downgrade(&service)));
        Ok(service)
    }

    /// Returns the address on which the service listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the key for its hosts. It is random, so other users of the machine cannot connect.
    pub fn key(&self) -> &Key {
        &self.key
    }

    fn take_running(&self) -> Option<(oneshot::Sender<()>, JoinHandle<()>)> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        if !self.maker.is_here() {
            // In a forked child, the thread and the sockets belong to the parent.
            return std::mem::forget(self.running.get_mut().map(Option::take));
        }
        if let Some((stop, thread)) = self.take_running() {
            drop(stop);
            let _ = thread.join();
        }
    }
}

/// Stops shared services when the process exits: UCX must not be destroyed while their threads run.
fn stop_at_exit() {
    /// A forked child inherits the parent's handlers; a second call does nothing.
    static REGISTERED: PerProcess<Once> = PerProcess::new(Once::new);
    REGISTERED.call_once(|| {
        // SAFETY: `at_exit` lives as long as the program and does not unwind.
        unsafe { libc::atexit(at_exit) };
    });
}

extern "C" fn at_exit() {
    urom_log::guard_or((), || {
        let shared =
            SHARED.try_lock().map(|mut shared| std::mem::take(&mut *shared)).unwrap_or_default();
        for service in shared.iter().filter_map(|(_, service)| service.upgrade()) {
            drop(service.take_running());
        }
        wait_for_all(EXIT_DEADLINE);
    });
}

const LOG: &str = "the service's log says which files it found and does not serve, and why";

/// Returns why an embedded service lacks a plugin, and a remedy; see [`EmbeddedOptions`].
pub fn not_served(plugin: &str, plugin_path: Option<&OsStr>) -> (String, String) {
    let paths = search_path(plugin_path);
    let names = [format!("{plugin}.so"), format!("lib{plugin}.so")];
    let files = paths.iter().flat_map(|path| match path.is_dir() {
        true => names.iter().map(|name| path.join(name)).collect(),
        false => vec![path.clone()],
    });
    for file in files {
        if let Some((why, hint)) = freshness::stale(&file) {
            return (format!("{} is {why}", file.display()), hint);
        }
    }
    let looked: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    let why = match &looked[..] {
        [] => "it does not know where to look, because this program does not find itself by \
               /proc/self/exe"
            .to_owned(),
        looked => format!("it looked in {}", looked.join(" and ")),
    };
    let directory = |path: &PathBuf| match path.is_dir() {
        true => freshness::command_for(path),
        false => freshness::command_for(path.parent()?),
    };
    let build = paths.iter().find_map(directory);
    let build = build.map(|build| format!("run {build}, or ")).unwrap_or_default();
    let advice = match plugin_path {
        // `plugin_path` overrides the variable.
        Some(_) => "add the directory of its .so to the plugin path that this program gives".into(),
        None => format!("name the directory of its .so in {PLUGIN_PATH_VARIABLE}"),
    };
    (why, format!("{build}{advice}; {LOG}"))
}

/// Returns the plugin path: `plugin_path`, else `UROM_PLUGIN_PATH`, else cargo's output directory.
fn search_path(plugin_path: Option<&OsStr>) -> Vec<PathBuf> {
    if let Some(paths) = plugin_path.map(entries).or_else(path_of_environment) {
        return paths;
    }
    let libraries = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let program = env::current_exe().ok();
    program.and_then(|program| beside(&program, &libraries)).into_iter().collect()
}

/// Returns cargo's output directory for a program, such as `target/debug`. It is the program's
/// directory or, for a program in cargo's build directory, the matching directory in `libraries`,
/// the value of `LD_LIBRARY_PATH` that cargo sets.
pub fn beside(program: &Path, libraries: &OsStr) -> Option<PathBuf> {
    let directory = program.parent()?;
    // Cargo may build outside its output directory: `deps/NAME`, or `build/PACKAGE/HASH/out/NAME`.
    let profile = if ["deps", "examples"].iter().any(|name| directory.ends_with(name)) {
        directory.parent()?
    } else if directory.ends_with("out") && directory.ancestors().nth(3)?.ends_with("build") {
        directory.ancestors().nth(4)?
    } else {
        return Some(directory.to_owned());
    };
    let mut finished = env::split_paths(libraries);
    finished
        .find(|path| path.file_name() == profile.file_name())
        .or_else(|| Some(profile.to_owned()))
}

fn cpus_variable(value: Option<OsString>) -> io::Result<Option<CpuSet>> {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(None) };
    let wrong = |why: &str| {
        let text = format!(
            "{CPUS_VARIABLE} is {value:?}, which is not a list of CPUs: {why}; correct or unset it"
        );
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
        for (program, libraries, directory) in [
            ("/t/debug/host", "", "/t/debug"),
            ("/t/debug/deps/host-0123", "", "/t/debug"),
            ("/t/debug/examples/host", "/usr/lib", "/t/debug"),
            ("/usr/bin/host", "/t/debug", "/usr/bin"),
            ("/build/debug/deps/host-0123", "/t/debug:/build/debug/deps:/rust/lib", "/t/debug"),
            ("/build/release/deps/host-0123", "/t/debug", "/build/release"),
            ("/build/debug/build/host/0123/out/host-0123", "/t/debug", "/t/debug"),
            ("/build/debug/build/host/0123/out/host-0123", "", "/build/debug"),
        ] {
            let found = beside(Path::new(program), OsStr::new(libraries));
            assert_eq!(found.as_deref(), Some(Path::new(directory)), "{program}");
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
            assert!(
                text.contains("UROM_CPUS") && text.contains(bad) && text.contains("0-3,6"),
                "{text}"
            );
        }
    }
}
