//! The number of a host's connection on a worker.

use std::fmt;

/// A host's connection to a plugin's worker (`urom_worker_cmd_desc::dest_id`).
///
/// A worker uses an id once, for all commands of a connection. A host may have several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct ConnectionId(u64);

impl From<u64> for ConnectionId {
    fn from(dest_id: u64) -> ConnectionId {
        ConnectionId(dest_id)
    }
}

impl From<ConnectionId> for u64 {
    fn from(connection: ConnectionId) -> u64 {
        connection.0
    }
}

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
