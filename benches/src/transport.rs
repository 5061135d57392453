//! What UCX uses between processes.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Transport {
    SharedMemory,
    Tcp,
}

impl Transport {
    /// With the values of `UCX_TLS` that leave UCX nothing else.
    pub(crate) const SHM_ALONE: (Transport, &'static str) = (Transport::SharedMemory, "self,sm");
    pub(crate) const TCP_ALONE: (Transport, &'static str) = (Transport::Tcp, "tcp");

    /// Its part of figures' names.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Transport::SharedMemory => "shm",
            Transport::Tcp => "tcp",
        }
    }
}
