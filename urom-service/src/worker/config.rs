//! A worker's configuration: process arguments, or parameters of a thread.

use std::ffi::OsString;
use std::fmt::Display;
use std::net::IpAddr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use anyhow::{Error, Result, ensure};
use lexopt::{Arg, Parser, ValueExt};
use urom_abi::WorkerId;
use urom_abi::cpu::CpuSet;
use urom_wire::peer_timeout::PeerTimeout;

use crate::log::{LogFormat, LogLevel};
use crate::plugin_elf::{self, PluginElf, plugin_name};

/// UCX's settings for the loopback device. Its default pieces of 8 KiB make bulk transfers four
/// times slower than over other devices. A send segment must not exceed 64 KiB: a peer with default
/// settings cannot receive more, and UCX does not compare settings.
pub(crate) const LOOPBACK: &[(&str, &str)] =
    &[("NET_DEVICES", "lo"), ("TCP_TX_SEG_SIZE", "64K"), ("TCP_RX_SEG_SIZE", "512K")];

pub(crate) fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// A worker process's first argument. Its standard input is the stream to the daemon.
pub(crate) const WORKER: &str = "worker";

/// Follows `worker` when written as arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkerConfig {
    pub id: WorkerId,
    pub gid: u32,
    /// In bytes.
    pub max_message: usize,
    /// Limit in bytes of answers that one host leaves unread.
    pub max_unread: usize,
    pub max_hosts: usize,
    /// Timeout for daemon and hosts.
    pub peer_timeout: PeerTimeout,
    /// Limit in seconds for a plugin call, after which the worker ends.
    pub plugin_timeout: Option<u32>,
    /// Use only DOCA's interface of plugins.
    pub plain_doca: bool,
    pub listen: IpAddr,
    /// Socket file for handovers; an abstract name by default.
    pub socket: Option<PathBuf>,
    /// CPUs that do not exist are ignored.
    pub cpus: Option<CpuSet>,
    pub log_level: LogLevel,
    pub sdk_log_level: LogLevel,
    pub log_format: LogFormat,
    /// The log, if it is not standard error: an absolute path.
    pub log_file: Option<PathBuf>,
    /// As arguments: `so_path:id`.
    pub plugins: Vec<PluginItem>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PluginItem {
    pub path: PathBuf,
    pub id: u64,
}

impl WorkerConfig {
    pub(crate) fn unlimited() -> WorkerConfig {
        WorkerConfig {
            id: WorkerId(1),
            gid: 0,
            max_message: 4096,
            max_unread: usize::MAX >> 8,
            max_hosts: usize::MAX,
            peer_timeout: PeerTimeout::OFF,
            plugin_timeout: None,
            plain_doca: false,
            listen: [127, 0, 0, 1].into(),
            socket: None,
            cpus: None,
            log_level: LogLevel::WARNING,
            sdk_log_level: LogLevel::WARNING,
            log_format: LogFormat::Text,
            log_file: None,
            plugins: Vec::new(),
        }
    }

    pub(crate) fn to_args(&self) -> Vec<OsString> {
        let mut args = Vec::new();
        let mut option = |name: &str, value: &dyn Display| {
            args.extend([format!("--{name}").into(), OsString::from(value.to_string())]);
        };
        option("id", &self.id);
        option("gid", &self.gid);
        option("max-message", &self.max_message);
        option("max-unread", &self.max_unread);
        option("max-hosts", &self.max_hosts);
        option("peer-timeout", &self.peer_timeout);
        option("listen", &self.listen);
        option("log-level", &self.log_level);
        option("sdk-log-level", &self.sdk_log_level);
        option("log-format", &self.log_format);
        if let Some(seconds) = self.plugin_timeout {
            option("plugin-timeout", &seconds);
        }
        if let Some(cpus) = &self.cpus {
            option("cpus", cpus);
        }
        if self.plain_doca {
            args.push("--plain-doca".into());
        }
        for (name, path) in [("--socket", &self.socket), ("--log-file", &self.log_file)] {
            if let Some(path) = path {
                args.extend([name.into(), path.clone().into_os_string()]);
            }
        }
        args.push("--".into());
        args.extend(self.plugins.iter().map(PluginItem::to_arg));
        args
    }

    pub(crate) fn from_args(args: impl IntoIterator<Item = OsString>) -> Result<WorkerConfig> {
        let mut parser = Parser::from_args(args);
        let mut config = WorkerConfig::unlimited();
        let mut missing = vec![
            "id",
            "gid",
            "max-message",
            "max-unread",
            "max-hosts",
            "peer-timeout",
            "listen",
            "log-level",
            "sdk-log-level",
        ];
        while let Some(arg) = parser.next()? {
            if let Arg::Long(name) = &arg {
                missing.retain(|option| option != name);
            }
            match arg {
                Arg::Long("id") => config.id = parser.value()?.parse()?,
                Arg::Long("gid") => config.gid = parser.value()?.parse()?,
                Arg::Long("max-message") => config.max_message = parser.value()?.parse()?,
                Arg::Long("max-unread") => config.max_unread = parser.value()?.parse()?,
                Arg::Long("max-hosts") => config.max_hosts = parser.value()?.parse()?,
                Arg::Long("peer-timeout") => config.peer_timeout = parser.value()?.parse()?,
                Arg::Long("listen") => config.listen = parser.value()?.parse()?,
                Arg::Long("log-level") => config.log_level = parser.value()?.parse()?,
                Arg::Long("sdk-log-level") => config.sdk_log_level = parser.value()?.parse()?,
                Arg::Long("log-format") => config.log_format = parser.value()?.parse()?,
                Arg::Long("log-file") => config.log_file = Some(parser.value()?.into()),
                Arg::Long("plugin-timeout") => {
                    config.plugin_timeout = Some(parser.value()?.parse()?);
                }
                Arg::Long("cpus") => config.cpus = Some(parser.value()?.parse()?),
                Arg::Long("plain-doca") => config.plain_doca = true,
                Arg::Long("socket") => config.socket = Some(parser.value()?.into()),
                Arg::Value(item) => config.plugins.push(item.try_into().map_err(Error::msg)?),
                other => return Err(other.unexpected().into()),
            }
        }
        ensure!(missing.is_empty(), "uromd alone starts a worker: --{} is missing", missing[0]);
        ensure!(!config.plugins.is_empty(), "uromd alone starts a worker: no plugin is given");
        Ok(config)
    }
}

impl PluginItem {
    fn to_arg(&self) -> OsString {
        let mut text = self.path.clone().into_os_string();
        text.push(format!(":{}", self.id));
        text
    }

    /// Returns the plugin's name for hosts, as in the daemon, and the fingerprint in the file.
    pub(crate) fn stated(&self) -> (String, Option<u64>) {
        let looked = plugin_elf::look(&self.path).ok();
        let stated = looked.as_ref().and_then(PluginElf::stated_name);
        let of_file = |_| self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = plugin_name(&self.path, stated).unwrap_or_else(of_file);
        (name, looked.as_ref().and_then(PluginElf::fingerprint))
    }
}

const NO_ITEM: &str = "a plugin is given as so_path:id, the id a single bit of 64";

impl TryFrom<OsString> for PluginItem {
    type Error = &'static str;

    fn try_from(text: OsString) -> Result<PluginItem, &'static str> {
        let bytes = text.as_bytes();
        let colon = bytes.iter().rposition(|byte| *byte == b':').ok_or(NO_ITEM)?;
        let (path, id) = (&bytes[..colon], &bytes[colon + 1..]);
        let id = std::str::from_utf8(id).ok().and_then(|id| id.parse::<u64>().ok());
        let id = id.filter(|id| id.is_power_of_two() && !path.is_empty()).ok_or(NO_ITEM)?;
        Ok(PluginItem { path: OsString::from_vec(path.to_vec()).into(), id })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_survives_the_command_line() {
        let config = WorkerConfig {
            id: WorkerId::generated(3),
            gid: 3,
            max_message: 4096,
            max_unread: 1 << 26,
            max_hosts: 256,
            peer_timeout: "60".parse().unwrap(),
            plugin_timeout: Some(30),
            plain_doca: true,
            listen: "::1".parse().unwrap(),
            socket: Some("/run/a b/urom-3".into()),
            cpus: Some("0-3,9".parse().unwrap()),
            log_level: LogLevel::DEBUG,
            sdk_log_level: LogLevel::WARNING,
            log_format: LogFormat::Json,
            log_file: Some("/var/log/a b".into()),
            plugins: vec![
                PluginItem { path: "/a:b/c d.so".into(), id: 1 },
                PluginItem {
                    path: OsString::from_vec(b"-odd\xff.so".to_vec()).into(),
                    id: 1 << 61,
                },
            ],
        };
        assert_eq!(WorkerConfig::from_args(config.to_args()).unwrap(), config);
    }

    #[test]
    fn an_item_without_a_file_or_a_single_bit_is_refused() {
        for text in
            ["", "x.so", "x.so:", ":1", "x.so:0", "x.so:3", "x.so:-1", "x.so:18446744073709551616"]
        {
            assert_eq!(PluginItem::try_from(OsString::from(text)), Err(NO_ITEM), "{text}");
        }
    }
}
