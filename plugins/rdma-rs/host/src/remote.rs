//! Memory of the other end.

use rdma_protocol::{Access, Remote};
use urom_host::memory::Exported;
use urom_host::{DocaError, Error, Result};

use crate::Rdma;

/// A memory map of the other end, which exported it (`doca_mmap_create_from_export`).
///
/// It only names the memory. The worker of its owner checks every operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteMmap {
    exported: Exported,
}

/// A place in the memory of the other end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemotePlace {
    pub(crate) place: Remote,
}

impl RemoteMmap {
    /// The map that [`Rdma::export_mmap`] of the other end gave these bytes for, as operations of
    /// `_rdma` name it. DOCA's call takes the device in its place.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the bytes are no exported map, or were cut or damaged;
    /// `UNSUPPORTED_VERSION` if another release exported them in another format.
    #[allow(clippy::unused_async, reason = "a device may have to be asked")]
    pub async fn import(_rdma: &Rdma, bytes: &[u8]) -> Result<RemoteMmap> {
        Ok(RemoteMmap { exported: Exported::read(bytes)? })
    }

    /// How long it is, in bytes; at least one.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> u64 {
        self.exported.len()
    }

    /// What its owner and others may do with it (`enum doca_access_flag`).
    #[must_use]
    pub fn access(&self) -> Access {
        self.exported.access()
    }

    /// The place `offset` bytes from its beginning. An operation that goes beyond the map fails.
    #[must_use]
    pub fn at(&self, offset: u64) -> RemotePlace {
        RemotePlace { place: Remote { memory: self.exported.id(), offset } }
    }
}

impl RemotePlace {
    /// No place: for operations on no bytes.
    pub const NOWHERE: RemotePlace = RemotePlace { place: Remote { memory: 0, offset: 0 } };
}

/// An error of an operation that was not submitted.
pub(crate) fn refused(code: DocaError, what: &'static str, why: impl Into<String>) -> Error {
    Error::new(code, what).why(why)
}
