//! Memory of the other end.

use rdma_protocol::{Access, Remote};
use urom_host::memory::Exported;
use urom_host::{DocaError, Error, Result};

use crate::Rdma;

/// A memory map that the other end exported, checked by its worker
/// (`doca_mmap_create_from_export`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteMmap {
    exported: Exported,
}

/// An address in the other end's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemoteAddress {
    pub(crate) address: Remote,
}

impl RemoteMmap {
    /// Reads the other end's [`Rdma::export_mmap`], for operations of `_rdma` (a device in DOCA).
    ///
    /// # Errors
    /// `INVALID_VALUE` for malformed or damaged bytes; `UNSUPPORTED_VERSION` for another format.
    #[allow(clippy::unused_async, reason = "a device may have to be asked")]
    pub async fn import(_rdma: &Rdma, bytes: &[u8]) -> Result<RemoteMmap> {
        Ok(RemoteMmap { exported: Exported::read(bytes)? })
    }

    /// Returns the length in bytes; at least one.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> u64 {
        self.exported.len()
    }

    /// Returns the access of the owner and others (`enum doca_access_flag`).
    #[must_use]
    pub fn access(&self) -> Access {
        self.exported.access()
    }

    /// Returns the address at `offset` bytes. An operation beyond the end of the map fails.
    #[must_use]
    pub fn at(&self, offset: u64) -> RemoteAddress {
        RemoteAddress { address: Remote { memory: self.exported.id(), offset } }
    }
}

impl RemoteAddress {
    /// A null address, for operations on no bytes.
    pub const NOWHERE: RemoteAddress = RemoteAddress { address: Remote { memory: 0, offset: 0 } };
}

/// Makes the error of an operation that was not submitted.
pub(crate) fn refused(code: DocaError, what: &'static str, why: impl Into<String>) -> Error {
    Error::new(code, what).why(why)
}
