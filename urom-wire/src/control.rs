//! The messages of the control streams: after a [`hello`](super::hello) each way, one pair of these
//! types ([`stream`](super::stream)). Each side sends the heartbeat `Ping` after [`HEARTBEAT`] of
//! silence, and drops a peer after [`PEER_TIMEOUT`] of silence.
//!
//! A change of these types raises [`PROTOCOL`](super::hello::PROTOCOL) and changes the seeds of the
//! fuzz targets (CONTRIBUTING.md).

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use urom_abi::MAX_PLUGINS;

pub use super::failure::{Failure, LONGEST_TEXT, cut};
pub use super::hung_call::{HungCall, Method};
pub use super::memory::{
    HandoverAddress, MAX_UCX_ADDRESS, MemoryAnswer, MemoryLocation, MemoryOffer, MemoryWord,
    SharedBy,
};
use super::{bounded, bytes};
use crate::key::Secret;

/// A side sends a `Ping` after this much silence.
pub const HEARTBEAT: Duration = Duration::from_secs(1);

/// The default timeout for a silent peer: with a heartbeat to spare, detection takes at most 5 s.
pub const PEER_TIMEOUT: Duration = Duration::from_millis(3500);

pub const CONNECT_DEADLINE: Duration = Duration::from_secs(4);

pub const MAX_VARIABLES: usize = 4096;

pub const DEFAULT_PORT: u16 = 18700;

/// A service's plugin directories and files, separated by `;`.
pub const PLUGIN_PATH_VARIABLE: &str = "UROM_PLUGIN_PATH";

pub const LONGEST_PROGRAM: usize = 128;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginEntry {
    pub id: u64,
    pub build: PluginBuild,
    /// The file name without `.so`.
    pub name: String,
}

/// Distinguishes builds of a plugin with different message formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginBuild {
    pub version: u64,
    /// The fingerprint of the description in its file; `None` for a plugin without one (in C).
    pub fingerprint: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginAddress {
    pub name: String,
    pub build: PluginBuild,
    /// The result of its `addr`; empty for an unreachable plugin.
    #[serde(with = "bytes")]
    pub address: Vec<u8>,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum HostToDaemon {
    Ping,
    /// Spawn a worker, or join the worker with this id.
    Start {
        request: u64,
        worker: StartWorker,
    },
    Group {
        request: u64,
        gid: u32,
    },
    Describe {
        request: u64,
        plugin: u64,
    },
}

/// A host's request for a worker. `Debug` only prints the variables' names.
#[derive(Clone, Serialize, Deserialize)]
pub struct StartWorker {
    pub id: u64,
    pub plugins: u64,
    pub gid: u32,
    /// `NAME=value` for a spawned worker; `Some` for an existing one fails (`ALREADY_EXIST`).
    #[serde(deserialize_with = "bounded::list_if_any::<_, _, MAX_VARIABLES>")]
    pub env: Option<Vec<String>>,
    /// CPUs as text (`0-3`); `None` for all of the service's.
    pub cpus: Option<String>,
}

impl fmt::Debug for StartWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StartWorker { id, plugins, gid, env, cpus } = self;
        let name = |text: &String| text.split_once('=').map_or("..", |(name, _)| name).to_owned();
        let names: Option<Vec<String>> = env.as_ref().map(|env| env.iter().map(name).collect());
        let mut fields = f.debug_struct("StartWorker");
        fields.field("id", id).field("plugins", plugins).field("gid", gid).field("env", &names);
        fields.field("cpus", cpus).finish()
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub enum DaemonToHost {
    Ping,
    Welcome {
        #[serde(deserialize_with = "bounded::list::<_, _, MAX_PLUGINS>")]
        plugins: Vec<PluginEntry>,
        cpus: String,
        /// The daemon's message limit in bytes; the smaller of this and the host's applies.
        max_message: u64,
    },
    Started {
        request: u64,
        id: u64,
        /// The address of its control stream. An unspecified IP means the daemon's.
        address: SocketAddr,
        /// The host's token for one connection to the worker.
        token: u128,
    },
    Group {
        request: u64,
        ids: Vec<u64>,
    },
    Description {
        request: u64,
        #[serde(with = "bytes")]
        description: Arc<[u8]>,
    },
    /// The first message to a rejected host.
    Refused(Failure),
    Failed {
        request: u64,
        failure: Failure,
    },
}

impl DaemonToHost {
    pub fn request(&self) -> Option<u64> {
        match self {
            DaemonToHost::Started { request, .. }
            | DaemonToHost::Group { request, .. }
            | DaemonToHost::Description { request, .. }
            | DaemonToHost::Failed { request, .. } => Some(*request),
            DaemonToHost::Ping | DaemonToHost::Welcome { .. } | DaemonToHost::Refused(_) => None,
        }
    }

    /// The message's name, without its contents, which may be long or secret.
    pub fn name(&self) -> &'static str {
        match self {
            DaemonToHost::Ping => "Ping",
            DaemonToHost::Welcome { .. } => "Welcome",
            DaemonToHost::Started { .. } => "Started",
            DaemonToHost::Group { .. } => "Group",
            DaemonToHost::Description { .. } => "Description",
            DaemonToHost::Refused(_) => "Refused",
            DaemonToHost::Failed { .. } => "Failed",
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub enum HostToWorker {
    Ping,
    Attach(Attach),
    /// Without a ring: frames use UCX.
    Reach(Reach),
    Domain {
        domain: u64,
        word: DomainWord,
    },
    Memory(MemoryWord),
}

#[derive(Debug, Serialize, Deserialize)]
pub enum DomainWord {
    /// The domain starts. Its table follows, uninterrupted by other tables.
    Start {
        len: u64,
    },
    Piece(#[serde(with = "bytes")] Vec<u8>),
    /// The domain ends, or its table will not be completed.
    End,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Attach {
    pub token: u128,
    /// The most tasks in flight; slots are below it. At most 65536.
    pub max_inflight: u32,
    pub max_message: u64,
    /// The program and its process, for logs.
    #[serde(deserialize_with = "bounded::text::<_, LONGEST_PROGRAM>")]
    pub program: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Reach {
    #[serde(
        serialize_with = "bytes::serialize",
        deserialize_with = "bounded::bytes::<_, MAX_UCX_ADDRESS>"
    )]
    pub ucx_address: Vec<u8>,
    /// The host's channel for the envelopes of notifications.
    pub channel: u16,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum WorkerToHost {
    Ping,
    /// The host is accepted: it hands over a ring to the socket, or connects UCX.
    Attached {
        socket: HandoverAddress,
        #[serde(
            serialize_with = "bytes::serialize",
            deserialize_with = "bounded::bytes::<_, MAX_UCX_ADDRESS>"
        )]
        ucx_address: Vec<u8>,
        /// The worker's channel for the envelopes of commands.
        channel: u16,
        max_message: u64,
        #[serde(deserialize_with = "bounded::list::<_, _, MAX_PLUGINS>")]
        plugins: Vec<PluginAddress>,
    },
    /// A domain's table is complete and its workers can be looked up; or the failure.
    DomainStarted {
        domain: u64,
        result: Result<(), Failure>,
    },
    DomainEnded {
        domain: u64,
    },
    /// The host is rejected or disconnected.
    Refused(Failure),
    /// A plugin does not return, or returns again (`None`). Only for an accepted host.
    Health(Option<HungCall>),
    Memory(MemoryAnswer),
}

/// Where and which commands a worker records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingTarget {
    pub directory: PathBuf,
    /// In bytes, of each worker's file.
    pub limit: u64,
    /// The names of recorded plugins; empty for all.
    pub plugins: Vec<String>,
    /// Whether memory that commands name is recorded.
    pub memory: bool,
}

impl RecordingTarget {
    pub fn has(&self, plugin: &str) -> bool {
        self.plugins.is_empty() || self.plugins.iter().any(|name| name == plugin)
    }
}

/// Daemon to worker. The configuration is on its command line, or in the call for its thread.
#[derive(Debug, Serialize, Deserialize)]
pub enum DaemonToWorker {
    Ping,
    /// Secrets of hosts, each of which is accepted; empty without a key. The worker accepts no
    /// connection before this message. Sent again when they change.
    Open {
        secrets: Vec<Secret>,
    },
    /// A host will connect with this token, once the worker has confirmed it.
    Expect {
        token: u128,
    },
    /// The host with this token is no longer expected. It may just have connected.
    Forget {
        token: u128,
    },
    /// Answers [`WorkerToDaemon::Empty`]: no host is expected, exit.
    Leave,
    /// Exit now: close the plugins, and fail the tasks in flight.
    Stop,
    /// Record commands and answers from now on, in a new file; `None` ends the recording.
    Record {
        target: Option<RecordingTarget>,
    },
}

#[derive(Debug, Serialize, Deserialize)]
pub enum WorkerToDaemon {
    Ping,
    Ready {
        port: u16,
    },
    Failed(Failure),
    Expected {
        token: u128,
    },
    Arrived {
        token: u128,
    },
    Departed {
        token: u128,
    },
    /// The last host left. The daemon answers `Leave`, unless another host is expected.
    Empty,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzzing::memory::within;

    fn start(variables: usize) -> HostToDaemon {
        let env = Some(vec![String::new(); variables]);
        HostToDaemon::Start {
            request: 9,
            worker: StartWorker { id: 7, plugins: 1, gid: 4, env, cpus: None },
        }
    }

    /// Whether a message can be read; in any case within the memory limit of a message.
    fn is_read<T: Serialize + serde::de::DeserializeOwned>(message: &T) -> bool {
        let bytes = postcard::to_extend(message, Vec::new()).unwrap();
        within(256 << 10, || postcard::from_bytes::<T>(&bytes).is_ok())
    }

    #[test]
    fn a_megabyte_of_empty_variables_does_not_become_many_megabytes() {
        assert!(is_read(&start(MAX_VARIABLES)));
        assert!(!is_read(&start(MAX_VARIABLES + 1)));
        assert!(!is_read(&start(1 << 20)));
    }

    #[test]
    fn overlong_addresses_and_program_names_are_refused() {
        let attach = |program| {
            HostToWorker::Attach(Attach {
                token: 1,
                max_inflight: 3,
                max_message: 4096,
                program: "p".repeat(program),
            })
        };
        let reach = |len| HostToWorker::Reach(Reach { ucx_address: vec![0; len], channel: 2 });
        assert!(is_read(&attach(LONGEST_PROGRAM)) && !is_read(&attach(LONGEST_PROGRAM + 1)));
        assert!(is_read(&reach(MAX_UCX_ADDRESS)) && !is_read(&reach(MAX_UCX_ADDRESS + 1)));
    }

    #[test]
    fn a_list_of_too_many_plugins_is_refused() {
        let build = PluginBuild { version: 1, fingerprint: None };
        let entry = PluginEntry { id: 1, build, name: String::new() };
        let address = PluginAddress { name: String::new(), build, address: Vec::new() };
        for (count, is_possible) in
            [(MAX_PLUGINS, true), (MAX_PLUGINS + 1, false), (1 << 18, false)]
        {
            let (plugins, cpus) = (vec![entry.clone(); count], String::new());
            assert_eq!(
                is_read(&DaemonToHost::Welcome { plugins, cpus, max_message: 1 }),
                is_possible
            );
            let (plugins, ucx_address) = (vec![address.clone(); count], Vec::new());
            let socket = HandoverAddress::default();
            let attached =
                WorkerToHost::Attached { socket, ucx_address, channel: 1, max_message: 1, plugins };
            assert_eq!(is_read(&attached), is_possible);
        }
    }

    #[test]
    fn nothing_shows_the_value_of_a_variable() {
        let env = Some(
            ["TOKEN=hidden", "NAMELESS hidden", "=hidden", "EMPTY="].map(str::to_owned).to_vec(),
        );
        let worker = StartWorker { id: 7, plugins: 1, gid: 4, env, cpus: None };
        let text = format!("{:?}", HostToDaemon::Start { request: 9, worker });
        assert!(!text.contains("hidden"), "{text}");
        for shown in ["TOKEN", "EMPTY", "id: 7", "request: 9"] {
            assert!(text.contains(shown), "{text}");
        }
    }
}
