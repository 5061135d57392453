//! What UCX may use between processes, and the variables that say so.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Transport {
    SharedMemory,
    Tcp,
}

impl Transport {
    /// Its part of figures' names.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Transport::SharedMemory => "shm",
            Transport::Tcp => "tcp",
        }
    }
}

/// The variables of a launch and of all its processes.
#[derive(Debug)]
pub(crate) struct Environment {
    pub(crate) transport: Transport,
    pub(crate) variables: &'static [(&'static str, &'static str)],
}

impl Environment {
    pub(crate) const SHARED_MEMORY: Environment =
        Environment { transport: Transport::SharedMemory, variables: &[("UCX_TLS", "self,sm")] };
    pub(crate) const TCP: Environment =
        Environment { transport: Transport::Tcp, variables: &[("UCX_TLS", "tcp")] };

    /// The variables that an environment does without, unless it sets them.
    pub(crate) const OWN: [&str; 2] = ["UCX_TLS", "UCX_MEM_EVENTS"];
}
