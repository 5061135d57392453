//! [`RemoteMmap`]: memory of another process.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use urom_abi::memory::{Access, MemoryRange};

use crate::error::{Error, Result};
use crate::exported::Exported;
use crate::inner::{Backing, MapInner};
use crate::memfd::{map_received, not_mapped};
use crate::view::View;

/// Memory of another process, which exported it (`doca_mmap_create_from_export`).
///
/// It has its owner's number and addresses, so commands and buffers can name its bytes. This
/// process can access the bytes only if it maps them. A clone is a second handle of the same
/// memory. Any thread may use it. A mapping ends with the last clone and the last buffer in it.
#[derive(Clone, Debug)]
pub struct RemoteMmap {
    inner: Arc<MapInner>,
}

impl RemoteMmap {
    /// Makes a handle without access to the bytes.
    #[must_use]
    pub fn import(exported: Exported) -> RemoteMmap {
        RemoteMmap::new(exported, Backing::Elsewhere)
    }

    /// Maps memory by a descriptor that its owner sent, at `offset` bytes from the descriptor's
    /// beginning. It is writable if the owner lets others write. The descriptor may then be closed.
    ///
    /// # Errors
    /// `INVALID_VALUE` when the descriptor has fewer bytes or is not sealed against shrinking,
    /// `OPERATING_SYSTEM` when it cannot be mapped.
    pub fn map(exported: Exported, fd: BorrowedFd<'_>, offset: u64) -> Result<RemoteMmap> {
        let is_writable = exported.access().others_write();
        let len = exported.len();
        let map = map_received(fd, offset, len, is_writable)
            .map_err(|error| not_mapped(offset, len, error))?;
        Ok(RemoteMmap::new(exported, Backing::Received { map, is_writable }))
    }

    fn new(exported: Exported, backing: Backing) -> RemoteMmap {
        RemoteMmap { inner: MapInner::new(exported, backing) }
    }

    pub(crate) fn inner(&self) -> &Arc<MapInner> {
        &self.inner
    }

    /// Returns the number, address, length and permissions, as its owner exported them.
    #[must_use]
    pub fn exported(&self) -> Exported {
        Exported::of(&self.inner)
    }

    /// Returns the permissions of its owner and of others (`enum doca_access_flag`).
    #[must_use]
    pub fn access(&self) -> Access {
        self.inner.access
    }

    /// Returns the whole memory as a command's field.
    #[must_use]
    pub fn range(&self) -> MemoryRange {
        self.exported().range()
    }

    /// Returns the number of buffers in the memory (`doca_mmap_get_num_bufs`).
    #[must_use]
    pub fn buffers(&self) -> u32 {
        self.inner.buffers.load(Ordering::Relaxed)
    }

    /// Returns the number of other clones and buffers.
    #[doc(hidden)]
    #[must_use]
    pub fn shares(&self) -> usize {
        Arc::strong_count(&self.inner) - 1
    }

    /// Returns the bytes, if they are mapped here.
    ///
    /// # Errors
    /// `NOT_PERMITTED` if they are not; `BAD_STATE` in a forked child of the mapping process.
    pub fn view(&self) -> Result<View<'_>> {
        self.inner.check()?;
        self.inner.view().ok_or_else(|| elsewhere(self.inner.id))
    }
}

#[cold]
pub(crate) fn elsewhere(id: u64) -> Error {
    Error::not_permitted(format!(
        "memory {id:#x} is another process's and not mapped here: only its owner can read it"
    ))
}
