//! What a plugin did wrong, in words.

use std::fmt;

use urom_abi::DocaError;
use urom_abi::memory::MemoryRange;

/// A command that was sent, as reports name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Asked {
    /// Its place among all commands of its worker, from 1.
    pub number: u64,
    /// What it is by its tag: a variant's name, or `unknown command`.
    pub name: &'static str,
    /// How many bytes it has.
    pub len: usize,
    /// The connection it came from (`urom_worker_cmd_desc::dest_id`).
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
    /// What it opened.
    pub range: MemoryRange,
    /// The connection whose host shares it.
    pub connection: u64,
    /// How many times it was opened and not closed.
    pub times: usize,
}

/// One thing that a plugin did wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// A command got no notification.
    Unanswered(Asked),
    /// A command got more than one notification: so many by now.
    AnsweredAgain(Asked, usize),
    /// A notification with this token (`urom_worker_notify::urom_context`) answers no command that
    /// was sent.
    Stray(u64),
    /// A notification names another plugin or connection than its command.
    Misaddressed {
        /// The command.
        command: Asked,
        /// The plugin's id in the notification.
        plugin_id: u64,
        /// The connection in the notification.
        connection: u64,
    },
    /// `notif_pack` did not do what it must, for the notification of this command or a stray one;
    /// the text says what it did.
    Pack(Option<Asked>, String),
    /// `call` of the plugin's extension did not do what it must, for this command; the text says
    /// what it did.
    Call(Asked, String),
    /// `progress` gave a code that is neither `SUCCESS` nor `EMPTY`.
    Progress(DocaError),
    /// `addr` did not do what it must.
    Address(String),
    /// The memory of a command was not given back when the plugin was closed: something still holds
    /// it, or forgot it.
    CommandKept(Asked),
    /// The memory of a notification that was never sent, with so many bytes behind its header, was
    /// not given back when the plugin was closed.
    NotificationKept(usize),
    /// A host's memory was not closed when the plugin was.
    MemoryKept(Kept),
    /// The worker's functions for hosts' memory were not used as they must be; the text says what
    /// the plugin did.
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
            Fault::Stray(token) => {
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
                write!(f, "packing a stray notification: {what}")
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

/// What came of one plugin, from `open` to `close`: see [`Worker::finish`](super::Worker::finish).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The plugin's name.
    pub plugin: &'static str,
    /// How many commands it was sent.
    pub commands: u64,
    /// How many notifications it made.
    pub notifications: u64,
    /// How many commands were in flight when the test itself closed the plugin; they need no
    /// notification.
    pub cut_off: usize,
    /// What it did wrong, in the order in which it showed.
    pub faults: Vec<Fault>,
}

impl Report {
    /// Whether nothing was wrong.
    pub fn is_clean(&self) -> bool {
        self.faults.is_empty()
    }

    /// Does nothing when nothing was wrong.
    ///
    /// # Panics
    /// With all that was wrong.
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
