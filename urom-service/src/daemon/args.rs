//! The values of the daemon's options. An embedded service has them without a command line.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use urom_abi::DEFAULT_MAX_MESSAGE;
use urom_abi::cpu::CpuSet;
use urom_wire::control::{DEFAULT_PORT, RecordingTarget};
use urom_wire::envelope::MESSAGE_LEN;
use urom_wire::key::key_file_of_environment;
use urom_wire::peer_timeout::PeerTimeout;

use crate::log::{LogFormat, LogLevel};

/// The options of `uromd`, with its defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonArgs {
    pub(crate) config: Option<PathBuf>,
    pub(crate) listen: SocketAddr,
    pub(crate) address_file: Option<PathBuf>,
    pub(crate) metrics: Option<SocketAddr>,
    pub(crate) control: Option<PathBuf>,
    pub(crate) key_file: Option<PathBuf>,
    pub(crate) limits: DaemonLimits,
    pub(crate) peer_timeout: Option<PeerTimeout>,
    pub(crate) plugin_timeout: Option<u32>,
    pub(crate) plain_doca: bool,
    pub(crate) socket_dir: Option<PathBuf>,
    pub(crate) emulate_exported_memory: bool,
    pub(crate) log_level: LogLevel,
    pub(crate) sdk_log_level: Option<LogLevel>,
    pub(crate) log_format: Option<LogFormat>,
    pub(crate) log_file: Option<PathBuf>,
    pub(crate) record: Option<PathBuf>,
    pub(crate) record_limit: u64,
    pub(crate) record_plugin: Vec<String>,
    pub(crate) record_memory: bool,
    pub(crate) max_message: usize,
    pub(crate) max_unread: Option<usize>,
    pub(crate) cpus: Option<CpuSet>,
    pub(crate) worker_launcher: Vec<OsString>,
    pub(crate) worker_env: Vec<String>,
    pub(crate) worker_env_allow: Vec<String>,
}

impl Default for DaemonArgs {
    fn default() -> DaemonArgs {
        DaemonArgs {
            config: None,
            listen: (Ipv4Addr::LOCALHOST, DEFAULT_PORT).into(),
            address_file: None,
            metrics: None,
            control: None,
            key_file: None,
            limits: DaemonLimits::default(),
            peer_timeout: None,
            plugin_timeout: None,
            plain_doca: false,
            socket_dir: None,
            emulate_exported_memory: false,
            log_level: LogLevel::INFO,
            sdk_log_level: None,
            log_format: None,
            log_file: None,
            record: None,
            record_limit: 1 << 30,
            record_plugin: Vec::new(),
            record_memory: false,
            max_message: DEFAULT_MAX_MESSAGE,
            max_unread: None,
            cpus: None,
            worker_launcher: Vec::new(),
            worker_env: Vec::new(),
            worker_env_allow: Vec::new(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DaemonLimits {
    pub hosts: usize,
    pub workers: usize,
    pub workers_per_host: usize,
}

impl Default for DaemonLimits {
    fn default() -> DaemonLimits {
        DaemonLimits { hosts: 1024, workers: 1024, workers_per_host: 256 }
    }
}

impl DaemonArgs {
    /// Returns the key file of the arguments, else of the environment.
    pub fn key_file(&self) -> Option<PathBuf> {
        self.key_file.clone().or_else(key_file_of_environment)
    }

    /// Returns where workers record commands, if they do.
    pub(crate) fn recording(&self) -> Option<RecordingTarget> {
        let directory = self.record.clone()?;
        let (limit, plugins) = (self.record_limit, self.record_plugin.clone());
        Some(RecordingTarget { directory, limit, plugins, memory: self.record_memory })
    }

    /// Returns the format of the lines: by default `journal` where standard error is the journal.
    pub(crate) fn log_format(&self) -> LogFormat {
        let of_place = || match self.log_file {
            Some(_) => LogFormat::Text,
            None => LogFormat::of_stderr(),
        };
        self.log_format.unwrap_or_else(of_place)
    }

    pub(crate) fn sdk_log_level(&self) -> LogLevel {
        self.sdk_log_level.unwrap_or(LogLevel::WARNING)
    }

    /// Limit in bytes of one host's unread messages: by default 64 MiB, or 128 messages if more. A
    /// host with 64 tasks in flight, `urom-host`'s default, never exceeds it: a task may have two
    /// answers, because a host may reuse a slot before UCX notifies the worker.
    pub(crate) fn max_unread(&self) -> usize {
        self.max_unread.unwrap_or_else(|| (64 << 20).max(128 * (self.max_message + MESSAGE_LEN)))
    }

    /// The smallest valid value: four messages.
    pub(crate) fn min_max_unread(&self) -> usize {
        4 * (self.max_message + MESSAGE_LEN)
    }
}
