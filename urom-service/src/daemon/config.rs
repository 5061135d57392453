//! The configuration of a daemon: its options, and the values in force.

use std::ffi::OsString;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use urom_abi::DEFAULT_MAX_MESSAGE;
use urom_abi::cpu::CpuSet;
use urom_wire::control::DEFAULT_PORT;
use urom_wire::frame::MESSAGE_LEN;
use urom_wire::key::Key;
use urom_wire::patience::Patience;

use super::roster::Serial;
use crate::log::LogLevel;

/// A daemon's options: those of `uromd`, which [`OPTIONS`](super::OPTIONS) describes.
#[derive(Debug, Clone)]
pub struct DaemonArgs {
    pub(crate) listen: SocketAddr,
    pub(crate) address_file: Option<PathBuf>,
    pub(crate) key_file: Option<PathBuf>,
    pub(crate) limits: Limits,
    pub(crate) patience: Option<Patience>,
    pub(crate) plugin_timeout: Option<u32>,
    pub(crate) plain_doca: bool,
    pub(crate) socket_dir: Option<PathBuf>,
    pub(crate) emulate_exported_memory: bool,
    pub(crate) log_level: LogLevel,
    pub(crate) sdk_log_level: Option<LogLevel>,
    pub(crate) max_message: usize,
    pub(crate) max_unread: Option<usize>,
    pub(crate) cpus: Option<CpuSet>,
    /// A program and its arguments.
    pub(crate) worker_launcher: Vec<OsString>,
    pub(crate) worker_env: Vec<String>,
    pub(crate) worker_env_allow: Vec<String>,
}

impl Default for DaemonArgs {
    fn default() -> DaemonArgs {
        DaemonArgs {
            listen: (Ipv4Addr::LOCALHOST, DEFAULT_PORT).into(),
            address_file: None,
            key_file: None,
            limits: Limits::default(),
            patience: None,
            plugin_timeout: None,
            plain_doca: false,
            socket_dir: None,
            emulate_exported_memory: false,
            log_level: LogLevel::INFO,
            sdk_log_level: None,
            max_message: DEFAULT_MAX_MESSAGE,
            max_unread: None,
            cpus: None,
            worker_launcher: Vec::new(),
            worker_env: Vec::new(),
            worker_env_allow: Vec::new(),
        }
    }
}

/// How many of everything a daemon takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most hosts that may be connected at a time: to the daemon, and to each worker.
    pub hosts: usize,
    /// The most workers that there may be at a time.
    pub workers: usize,
    /// The most of them that one host may use at a time.
    pub workers_per_host: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { hosts: 1024, workers: 1024, workers_per_host: 256 }
    }
}

/// The arguments, and what they and the environment lead to.
#[derive(Debug, Clone)]
pub(crate) struct DaemonConfig {
    pub(crate) args: DaemonArgs,
    /// The key that hosts must hold. Without one, the daemon listens on loopback addresses only.
    pub(crate) key: Option<Key>,
    /// How long hosts and workers may be silent; the workers' own, too.
    pub(crate) patience: Patience,
    /// The CPUs hosts are told of and may give to workers.
    pub(crate) cpus: CpuSet,
    /// The directories and files where plugins lie, instead of those of `UROM_PLUGIN_PATH`.
    pub(crate) plugin_path: Option<Vec<PathBuf>>,
    /// The first arguments of a worker process, before `worker`: none when the program is `uromd`.
    pub(crate) worker_words: Vec<OsString>,
    /// A library that workers load before all others.
    pub(crate) preload: Option<PathBuf>,
}

impl DaemonConfig {
    pub(crate) fn new(args: DaemonArgs, cpus: CpuSet) -> DaemonConfig {
        let (patience, worker_words) = (Patience::default(), Vec::new());
        DaemonConfig {
            args,
            key: None,
            patience,
            cpus,
            plugin_path: None,
            worker_words,
            preload: None,
        }
    }

    /// The socket of a worker, if there is a folder for them. Several daemons may have one folder,
    /// and several workers one id, one after the other.
    pub(crate) fn socket(&self, serial: Serial) -> Option<PathBuf> {
        let folder = self.args.socket_dir.as_ref()?;
        Some(folder.join(format!("urom-{}-{serial}", std::process::id())))
    }

    /// What starts each worker, with its first arguments; empty when workers are started directly.
    pub(crate) fn worker_launcher(&self) -> &[OsString] {
        &self.args.worker_launcher
    }
}

impl DaemonArgs {
    pub(crate) fn sdk_log_level(&self) -> LogLevel {
        self.sdk_log_level.unwrap_or(LogLevel::WARNING)
    }

    /// How much one host may leave unread: unless it is set, 64 MiB, or 128 messages where these
    /// are more. A host with 64 tasks in flight, `urom-host`'s default, never has more unread,
    /// however slowly it reads: the worker may have two answers for each, because a host may have
    /// an answer, and use its slot again, before UCX tells the worker.
    pub(crate) fn max_unread(&self) -> usize {
        self.max_unread.unwrap_or_else(|| (64 << 20).max(128 * (self.max_message + MESSAGE_LEN)))
    }

    /// The least that can be set: four messages.
    pub(crate) fn min_max_unread(&self) -> usize {
        4 * (self.max_message + MESSAGE_LEN)
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
