//! The configuration of a daemon.

use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use urom_abi::DEFAULT_MAX_MESSAGE;
use urom_abi::cpu::CpuSet;
use urom_wire::control::DEFAULT_PORT;
use urom_wire::frame::{MAX_PAYLOAD, MESSAGE_LEN};
use urom_wire::key::Key;
use urom_wire::patience::Patience;

use super::environment::{AllowedVariables, WorkerVariable};
use crate::log::LogLevel;

/// The smallest message limit in bytes.
pub const MIN_MAX_MESSAGE: usize = 64;

/// The largest message limit in bytes.
pub const MAX_MAX_MESSAGE: usize = MAX_PAYLOAD;

/// A daemon's configuration.
#[derive(Debug, Clone)]
pub struct DaemonConfig {
    /// Where it listens; port 0 picks one.
    pub listen: SocketAddr,
    /// How much of it hosts may have.
    pub limits: Limits,
    /// The key that hosts must hold. Without one, the daemon listens on loopback addresses only.
    pub key: Option<Key>,
    /// The message limit in bytes, headers included.
    pub max_message: usize,
    /// How many bytes of answers one host may leave unread at one worker; `None` for
    /// [`Self::default_max_unread`].
    pub max_unread: Option<usize>,
    /// The CPUs hosts are told of and may give to workers.
    pub cpus: CpuSet,
    /// Whether a worker without CPUs of its own is held to these.
    pub limit_workers_to_cpus: bool,
    /// The directories and files where plugins lie, instead of those of `UROM_PLUGIN_PATH`.
    pub plugin_path: Option<Vec<PathBuf>>,
    /// How long hosts and workers may be silent; the workers' own, too.
    pub patience: Patience,
    /// How many seconds a plugin may keep its worker in one call before the worker ends: at least
    /// 1, and for ever if `None`.
    pub plugin_timeout: Option<u32>,
    /// The log level of this program.
    pub log_level: LogLevel,
    /// The log level of libraries.
    pub sdk_log_level: LogLevel,
    /// The first arguments of a worker process, before `worker`: none when the program is `uromd`.
    pub worker_words: Vec<OsString>,
    /// A program with its first arguments, such as an emulator, which starts each worker: the
    /// worker's own program and arguments follow. Empty when workers are started directly.
    pub worker_launcher: Vec<OsString>,
    /// Variables for worker processes, besides those that they always have.
    pub worker_env: Vec<WorkerVariable>,
    /// The variables that hosts may set for a worker besides `UROM_*`, `UCX_TLS` and
    /// `UCX_LOG_LEVEL`.
    pub worker_env_allow: Vec<AllowedVariables>,
}

/// How many of everything a daemon takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Hosts that are connected at a time: to the daemon, and to each worker.
    pub hosts: usize,
    /// Workers that there are at a time.
    pub workers: usize,
    /// Workers that one host's connection may be at at a time, those that it waits for included.
    pub workers_per_host: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { hosts: 1024, workers: 1024, workers_per_host: 256 }
    }
}

impl Default for DaemonConfig {
    /// Loopback and the standard port, 4096 bytes, no CPUs, a patience of 3.5 s, and any time for
    /// plugins.
    fn default() -> DaemonConfig {
        DaemonConfig {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), DEFAULT_PORT),
            limits: Limits::default(),
            key: None,
            max_message: DEFAULT_MAX_MESSAGE,
            max_unread: None,
            cpus: CpuSet::empty(),
            limit_workers_to_cpus: false,
            plugin_path: None,
            patience: Patience::default(),
            plugin_timeout: None,
            log_level: LogLevel::INFO,
            sdk_log_level: LogLevel::WARNING,
            worker_words: Vec::new(),
            worker_launcher: Vec::new(),
            worker_env: Vec::new(),
            worker_env_allow: Vec::new(),
        }
    }
}

impl DaemonConfig {
    /// How much one host may leave unread unless it is set: 64 MiB, or 128 messages of
    /// `max_message` bytes where these are more. A host with 64 tasks in flight, the library's
    /// default, never has more unread, however slowly it reads: the worker may have two answers for
    /// each, because a host may have an answer, and use its slot again, before UCX tells the
    /// worker.
    pub fn default_max_unread(max_message: usize) -> usize {
        (64 << 20).max(128 * (max_message + MESSAGE_LEN))
    }

    /// The least that can be set: four messages of `max_message` bytes.
    pub fn min_max_unread(max_message: usize) -> usize {
        4 * (max_message + MESSAGE_LEN)
    }
}

/// The CPUs this process may use.
///
/// # Errors
/// The operating system's.
pub fn process_cpus() -> io::Result<CpuSet> {
    let set = rustix::thread::sched_getaffinity(None)?;
    Ok((0..CpuSet::CAPACITY.min(rustix::thread::CpuSet::MAX_CPU))
        .filter(|cpu| set.is_set(*cpu))
        .collect())
}
