//! Faults of a plugin, as text.

use std::fmt;

use urom_abi::DocaError;
use urom_abi::memory::MemoryRange;

/// A sent command in reports.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Asked {
    /// Its number among all commands of its worker, from 1.
    pub number: u64,
    /// The variant's name by its tag, or `unknown command`.
    pub name: &'static str,
    /// Its length in bytes.
    pub len: usize,
    /// Its connection (`urom_worker_cmd_desc::dest_id`).
    pub connection: u64,
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Asked { number, name, len, connection } = self;
        write!(f, "command {number} ({name}, {len} bytes, from connection {connection})")
    }
}

/// Memory of a host that a plugin has open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The opened range.
    pub range: MemoryRange,
    /// The connection whose host shares it.
    pub connection: u64,
    /// Number of times it was opened and not closed.
    pub times: usize,
}

/// One fault of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// A command got no notification.
    Unanswered(Asked),
    /// A command got several notifications: the number until now.
    AnsweredAgain(Asked, usize),
    /// A notification with this token (`urom_worker_notify::urom_context`) matches no sent command.
    NoCommand(u64),
    /// A notification has another plugin or connection than its command.
    Misaddressed {
        /// The command.
        command: Asked,
        /// The plugin's id in the notification.
        plugin_id: u64,
        /// The connection in the notification.
        connection: u64,
    },
    /// `notif_pack` misbehaved for the notification of this or an unknown command, as described.
    Pack(Option<Asked>, String),
    /// `call` of the plugin's extension misbehaved for this command; the text describes it.
    Call(Asked, String),
    /// `progress` returned neither `SUCCESS` nor `EMPTY`.
    Progress(DocaError),
    /// `addr` misbehaved.
    Address(String),
    /// The memory of a command was not freed when the plugin was closed.
    CommandKept(Asked),
    /// The memory of an unsent notification of this length was not freed at the close.
    NotificationKept(usize),
    /// A host's memory was not closed when the plugin was.
    MemoryKept(Kept),
    /// The worker's functions for hosts' memory were used wrongly; the text describes it.
    Memory(&'static str),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Unanswered(command) => write!(
                f,
                "{command} got no notification: where the test means that, it calls `Worker::close`"
            ),
            Fault::AnsweredAgain(command, times) => {
                write!(f, "{command} got {times} notifications")
            }
            Fault::NoCommand(token) => {
                write!(f, "a notification with token {token:#x} answers no command")
            }
            Fault::Misaddressed { command, plugin_id, connection } => write!(
                f,
                "the notification of {command} goes to connection {connection} and names the plugin {plugin_id:#x}: it must \
                 repeat the command's connection and the plugin's id"
            ),
            Fault::Pack(Some(command), what) => {
                write!(f, "packing the notification of {command}: {what}")
            }
            Fault::Pack(None, what) => {
                write!(f, "packing an unknown notification: {what}")
            }
            Fault::Call(command, what) => write!(f, "calling it with {command}: {what}"),
            Fault::Progress(code) => write!(f, "progress gave {code}: it must be SUCCESS or EMPTY"),
            Fault::Address(what) => write!(f, "asking for the plugin's address: {what}"),
            Fault::CommandKept(command) => write!(
                f,
                "the memory of {command} is not freed though the plugin is closed: drop every `Held` of it, and free \
                 what came by a list"
            ),
            Fault::NotificationKept(len) => write!(
                f,
                "the memory of a notification of {len} bytes is neither sent nor freed though the plugin is closed"
            ),
            Fault::MemoryKept(Kept { range, connection, times }) => write!(
                f,
                "{range}, which the host of connection {connection} shares, is open though the plugin is closed, {}: \
                 drop every `HostMemory` with the handler",
                urom_abi::Quantity(*times, "time")
            ),
            Fault::Memory(what) => write!(f, "the plugin {what}"),
        }
    }
}

/// A plugin's report, from `open` to `close`: see [`Worker::finish`](super::Worker::finish).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The plugin's name.
    pub plugin: &'static str,
    /// Number of commands sent to it.
    pub commands: u64,
    /// Number of its notifications.
    pub notifications: u64,
    /// Number of commands in flight when the test closed the plugin; they need no notification.
    pub cut_off: usize,
    /// Its faults, in the order of detection.
    pub faults: Vec<Fault>,
}

impl Report {
    /// Returns whether the plugin is without faults.
    pub fn is_clean(&self) -> bool {
        self.faults.is_empty()
    }

    /// Panics unless the plugin is without faults.
    ///
    /// # Panics
    /// With all faults.
    #[track_caller]
    pub fn assert_clean(&self) {
        assert!(self.is_clean(), "{self}");
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { plugin, commands, notifications, .. } = self;
        write!(f, "plugin {plugin}: {commands} commands, {notifications} notifications, ")?;
        match self.faults.len() {
            0 => return f.write_str("nothing wrong"),
            1 => f.write_str("1 fault:")?,
            count => write!(f, "{count} faults:")?,
        }
        self.faults.iter().try_for_each(|fault| write!(f, "\n  - {fault}"))
    }
}
