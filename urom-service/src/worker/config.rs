//! What a worker is told when it starts: on its command line when it is a process, in a call when
//! it is a thread.

use std::ffi::OsString;
use std::net::IpAddr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use urom_abi::WorkerId;
use urom_abi::cpu::CpuSet;
use urom_wire::patience::Patience;

use crate::log::LogLevel;
use crate::plugin_elf::{self, PluginElf, plugin_name};

/// UCX's settings for the loopback device. UCX sends over it in pieces of 8 KiB, which makes bulk
/// four times slower than over any other device; with these segments it is about as fast. No piece
/// may be larger than 64 KiB: a peer with UCX's own settings has room for no more, and UCX compares
/// nothing.
pub(crate) const LOOPBACK: &[(&str, &str)] =
    &[("NET_DEVICES", "lo"), ("TCP_TX_SEG_SIZE", "64K"), ("TCP_RX_SEG_SIZE", "512K")];

pub(crate) fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// A worker's configuration. As arguments it is what `uromd worker` takes.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct WorkerConfig {
    /// The worker's id.
    #[arg(long)]
    pub id: WorkerId,
    /// Its group.
    #[arg(long)]
    pub gid: u32,
    /// The daemon's message limit in bytes.
    #[arg(long)]
    pub max_message: usize,
    /// How many bytes of answers one host may leave unread.
    #[arg(long)]
    pub max_unread: usize,
    /// The most hosts that it lets in at a time.
    #[arg(long)]
    pub max_hosts: usize,
    /// How long daemon and hosts may be silent.
    #[arg(long)]
    pub patience: Patience,
    /// How many seconds a plugin may take to return from a call before the worker ends; for ever if
    /// not given.
    #[arg(long)]
    pub plugin_timeout: Option<u32>,
    /// Whether it uses nothing of its plugins but DOCA's interface.
    #[arg(long)]
    pub plain_doca: bool,
    /// The address its control stream listens on.
    #[arg(long)]
    pub listen: IpAddr,
    /// The file of the socket where hosts hand memory over; an abstract name if not given.
    #[arg(long)]
    pub socket: Option<PathBuf>,
    /// The CPUs it may use; those that do not exist are passed over.
    #[arg(long)]
    pub cpus: Option<CpuSet>,
    /// What its log shows of this program.
    #[arg(long)]
    pub log_level: LogLevel,
    /// What its log shows of libraries.
    #[arg(long)]
    pub sdk_log_level: LogLevel,
    /// The plugins, each as `so_path:id`.
    #[arg(required = true, value_parser = OsStringValueParser::new().try_map(PluginItem::try_from))]
    pub plugins: Vec<PluginItem>,
}

/// A plugin to load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginItem {
    /// Its file.
    pub path: PathBuf,
    /// Its id: a single bit.
    pub id: u64,
}

impl WorkerConfig {
    /// The arguments that say this.
    pub fn to_args(&self) -> Vec<OsString> {
        let mut args = Vec::new();
        let mut option =
            |name: &str, value: String| args.extend([format!("--{name}").into(), value.into()]);
        option("id", self.id.to_string());
        option("gid", self.gid.to_string());
        option("max-message", self.max_message.to_string());
        option("max-unread", self.max_unread.to_string());
        option("max-hosts", self.max_hosts.to_string());
        option("patience", self.patience.to_string());
        option("listen", self.listen.to_string());
        if let Some(seconds) = self.plugin_timeout {
            option("plugin-timeout", seconds.to_string());
        }
        if self.plain_doca {
            args.push("--plain-doca".into());
        }
        let mut option =
            |name: &str, value: String| args.extend([format!("--{name}").into(), value.into()]);
        option("log-level", self.log_level.to_string());
        option("sdk-log-level", self.sdk_log_level.to_string());
        if let Some(socket) = &self.socket {
            args.extend(["--socket".into(), socket.clone().into_os_string()]);
        }
        let mut option =
            |name: &str, value: String| args.extend([format!("--{name}").into(), value.into()]);
        if let Some(cpus) = &self.cpus {
            option("cpus", cpus.to_string());
        }
        args.push("--".into());
        args.extend(self.plugins.iter().map(PluginItem::to_arg));
        args
    }
}

impl PluginItem {
    fn to_arg(&self) -> OsString {
        let mut text = self.path.clone().into_os_string();
        text.push(format!(":{}", self.id));
        text
    }

    /// The name a host knows the plugin by, as the daemon has it, and the fingerprint of its
    /// description. The file states them.
    pub fn stated(&self) -> (String, Option<u64>) {
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
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        config: WorkerConfig,
    }

    #[test]
    fn a_configuration_survives_the_command_line() {
        let config = WorkerConfig {
            id: WorkerId::generated(3),
            gid: 3,
            max_message: 4096,
            max_unread: 1 << 26,
            max_hosts: 256,
            patience: "60".parse().unwrap(),
            plugin_timeout: Some(30),
            plain_doca: true,
            listen: "::1".parse().unwrap(),
            socket: Some("/run/a b/urom-3".into()),
            cpus: Some("0-3,9".parse().unwrap()),
            log_level: LogLevel::DEBUG,
            sdk_log_level: LogLevel::WARNING,
            plugins: vec![
                PluginItem { path: "/a:b/c d.so".into(), id: 1 },
                PluginItem {
                    path: OsString::from_vec(b"-odd\xff.so".to_vec()).into(),
                    id: 1 << 61,
                },
            ],
        };
        let args = std::iter::once("worker".into()).chain(config.to_args());
        assert_eq!(Cli::try_parse_from(args).unwrap().config, config);
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
