//! The embedded service: the daemon and its workers on threads of this process, for tests and first
//! steps.

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
use urom_wire::patience::Patience;

use crate::daemon::DaemonArgs;
use crate::daemon::config::{DaemonConfig, process_cpus};
use crate::daemon::descriptors;
use crate::daemon::discovery::entries;
use crate::daemon::{Launcher, Manager, serve};
use crate::freshness;
use crate::log::Log;
use crate::threads::{Alive, wait_for_all};

/// Names the CPUs hosts are told of, as `uromd --cpus` does.
const CPUS_VARIABLE: &str = "UROM_CPUS";

/// The options of an embedded service.
#[derive(Debug, Clone, Default)]
pub struct EmbeddedOptions {
    /// Where plugins lie, instead of `UROM_PLUGIN_PATH`. When neither is set, the service looks
    /// beside the running program (in the folder above when that is cargo's `deps` or `examples`).
    pub plugin_path: Option<OsString>,
    /// The message limit in bytes; 4096 by default.
    pub max_message: Option<usize>,
    /// The CPUs hosts are told of; those of the variable `UROM_CPUS` by default, else those of the
    /// process.
    pub cpus: Option<CpuSet>,
}

/// A running embedded service. Dropping it stops daemon and workers in order.
///
/// It is the same code as `uromd`, with a thread wherever that has a process. So environment and
/// CPU set of a single worker have no effect (a log line says so), and a plugin that crashes takes
/// the process along.
///
/// A plugin of this kit is listed by the description in its file. Any other must be loaded for
/// that, on a thread. If loading hangs, it keeps the loader's lock: the process can then load
/// nothing else, start no worker and not end. A warning names the plugin after two seconds; under
/// `uromd` it does no harm. A file that was replaced after this process had loaded it is loaded
/// only once the program is started again.
///
/// Its warnings, and lines of its plugins down to `INFO`, go to standard error. A program with a
/// `tracing` subscriber gets them as events instead, those of plugins under the target
/// `urom_plugin`.
#[derive(Debug)]
pub struct Embedded {
    address: SocketAddr,
    key: Key,
    running: Mutex<Option<(oneshot::Sender<()>, JoinHandle<()>)>>,
    maker: Maker,
}

/// How long a process that exits waits for its services. One of their own threads may be what made
/// it exit.
const EXIT_DEADLINE: Duration = Duration::from_secs(2);

static SHARED: PerProcess<Mutex<Vec<Sharing>>> = PerProcess::new(Mutex::default);

type Sharing = ((Option<OsString>, usize, Option<CpuSet>), Weak<Embedded>);

impl Embedded {
    /// Starts a service on a free port of the loopback address.
    ///
    /// # Errors
    /// The operating system's: no port, no thread, no random numbers, too few descriptors.
    /// `InvalidInput` when `UROM_CPUS` is no list of CPUs.
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
            // It has no effect on threads of the host's own process.
            worker_env_allow: vec!["*".to_owned()],
            ..DaemonArgs::default()
        };
        let listener = std::net::TcpListener::bind(args.listen)?;
        let config = DaemonConfig {
            key: Some(key.clone()),
            plugin_path: Some(places(options.plugin_path.as_deref()))
                .filter(|places| !places.is_empty()),
            // A peer that is silent is paused together with this end.
            patience: Patience::OFF,
            ..DaemonConfig::new(args, cpus)
        };
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let alive = Alive::new();
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
                    stopped,
                )
                .await
            });
            // A plugin that hangs while it is listed keeps its thread; it must not keep the host
            // program.
            runtime.shutdown_background();
            if let Err(problem) = served {
                error!("the embedded service ended: {problem}");
            }
            Log::flush();
        };
        // The workers' threads inherit it from this one.
        let thread = signals::blocked(|| {
            std::thread::Builder::new().name("urom-daemon".to_owned()).spawn(daemon)
        });
        let thread = thread.map_err(signals::no_thread)?;
        let running = Mutex::new(Some((stop, thread)));
        Ok(Embedded { address, key, running, maker: Maker::here() })
    }

    /// The service of this process for a plugin path (`None`: see
    /// [`EmbeddedOptions::plugin_path`]), a message limit in bytes and the CPUs of `UROM_CPUS`:
    /// started on first use, stopped when its last user drops it, or the process exits.
    ///
    /// # Errors
    /// As [`start`](Embedded::start).
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

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The key of its hosts. It was made for this process, so that no other user of the machine can
    /// connect.
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
            // The thread is the parent's, and so are the service's sockets.
            return std::mem::forget(self.running.get_mut().map(Option::take));
        }
        if let Some((stop, thread)) = self.take_running() {
            drop(stop);
            let _ = thread.join();
        }
    }
}

/// Stops shared services when the process exits. A host may exit without stopping anything, and UCX
/// must not be destroyed under their threads.
fn stop_at_exit() {
    /// A child runs what its parent has registered, too; the second time nothing is left to stop.
    static REGISTERED: PerProcess<Once> = PerProcess::new(Once::new);
    REGISTERED.call_once(|| {
        // SAFETY: a function that stays, and that unwinds nowhere. When it cannot be registered,
        // all is as without it.
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

/// Why an embedded service does not serve a plugin, and what to do; `plugin_path` as for
/// [`EmbeddedOptions`].
///
/// For error messages: the service itself says it in its log.
pub fn not_served(plugin: &str, plugin_path: Option<&OsStr>) -> (String, String) {
    let places = places(plugin_path);
    let names = [format!("{plugin}.so"), format!("lib{plugin}.so")];
    let files = places.iter().flat_map(|place| match place.is_dir() {
        true => names.iter().map(|name| place.join(name)).collect(),
        false => vec![place.clone()],
    });
    for file in files {
        if let Some((why, hint)) = freshness::stale(&file) {
            return (format!("{} is {why}", file.display()), hint);
        }
    }
    let looked: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
    let why = match &looked[..] {
        [] => "it does not know where to look, because this program does not find itself by \
               /proc/self/exe"
            .to_owned(),
        looked => format!("it looked in {}", looked.join(" and ")),
    };
    let directory = |place: &PathBuf| match place.is_dir() {
        true => freshness::command_for(place),
        false => freshness::command_for(place.parent()?),
    };
    let build = places.iter().find_map(directory);
    let build = build.map(|build| format!("run {build}, or ")).unwrap_or_default();
    let place = match plugin_path {
        // The variable has no effect then.
        Some(_) => "add the directory of its .so to the plugin path that this program gives".into(),
        None => format!("name the directory of its .so in {PLUGIN_PATH_VARIABLE}"),
    };
    (why, format!("{build}{place}; {LOG}"))
}

/// Where an embedded service looks for plugins: in `plugin_path`, else where `UROM_PLUGIN_PATH`
/// says, else where cargo puts plugins that it builds together with this program.
fn places(plugin_path: Option<&OsStr>) -> Vec<PathBuf> {
    let variable = || env::var_os(PLUGIN_PATH_VARIABLE).filter(|path| !path.is_empty());
    if let Some(path) = plugin_path.map(OsStr::to_owned).or_else(variable) {
        return entries(&path);
    }
    let libraries = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let program = env::current_exe().ok();
    program.and_then(|program| beside(&program, &libraries)).into_iter().collect()
}

/// The directory in which cargo leaves the libraries of the build that a program is of, such as
/// `target/debug`: the program's own, or, for a program that lies where cargo builds, the one that
/// `LD_LIBRARY_PATH` names. Cargo sets that variable, whose value is `libraries`, for what it
/// starts.
pub fn beside(program: &Path, libraries: &OsStr) -> Option<PathBuf> {
    let directory = program.parent()?;
    // Where cargo builds, which may be elsewhere than where it leaves what is finished:
    // `deps/NAME`, or `build/PACKAGE/HASH/out/NAME`.
    let profile = if ["deps", "examples"].iter().any(|name| directory.ends_with(name)) {
        directory.parent()?
    } else if directory.ends_with("out") && directory.ancestors().nth(3)?.ends_with("build") {
        directory.ancestors().nth(4)?
    } else {
        return Some(directory.to_owned());
    };
    let mut finished = env::split_paths(libraries);
    finished
        .find(|place| place.file_name() == profile.file_name())
        .or_else(|| Some(profile.to_owned()))
}

fn cpus_variable(value: Option<OsString>) -> io::Result<Option<CpuSet>> {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(None) };
    let wrong = |why: &str| {
        let text = format!(
            "{CPUS_VARIABLE} is {value:?}, which is no list of CPUs: {why}; correct or unset it"
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
