//! What UCX may use between processes.

use serde::{Deserialize, Serialize};

/// Set by the environment of every process that takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Transport {
    SharedMemory,
    Tcp,
}

impl Transport {
    /// Both.
    pub(crate) const ALL: [Transport; 2] = [Transport::SharedMemory, Transport::Tcp];

    /// The variable that chooses it, and its value.
    pub(crate) fn variable(self) -> (&'static str, &'static str) {
        let transports = match self {
            Transport::SharedMemory => "self,sm",
            Transport::Tcp => "tcp",
        };
        ("UCX_TLS", transports)
    }

    /// As figures' names have it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Transport::SharedMemory => "shm",
            Transport::Tcp => "tcp",
        }
    }
}
