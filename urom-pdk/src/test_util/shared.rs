//! Memory that a test shares with a plugin, like a host.

use std::fmt;
use std::ops::RangeBounds;
use std::rc::Rc;

use urom_abi::DocaError;
use urom_abi::host_memory::MemoryPath;
use urom_abi::memory::{Access, MemoryRange};
use urom_abi::protocol::Protocol;
use urom_memory::{Exported, View};

use super::memory::PlayedMemory;
use super::services::Services;
use super::worker::{CONNECTION, Worker};

/// Memory that a host shares with the worker until this is dropped or [`unshare`](Self::unshare)d:
/// from [`Worker::share`]. The [path](MemoryPath) decides when operations end:
///
/// | path | reads and writes | atomic operations |
/// | --- | --- | --- |
/// | `MAPPED` | in place | at once |
/// | `PROCESS` | at once | by the next [`progress`](Worker::progress) |
/// | `NETWORK` | by the next `progress` | by the next `progress` |
///
/// Operations that end in `progress` wait while the memory is [paused](Self::pause).
#[must_use = "the memory is shared as long as this exists"]
pub struct SharedMemory {
    memory: Rc<PlayedMemory>,
    services: Rc<Services>,
}

impl<P: Protocol> Worker<P> {
    /// Shares an aligned copy of these bytes with the worker, like `Mmap::share` of the host of
    /// [`CONNECTION`]. Commands of that connection name it by [`SharedMemory::range`].
    ///
    /// # Panics
    /// Without bytes, or if only the host may read them.
    #[track_caller]
    pub fn share(&self, bytes: impl AsRef<[u8]>, access: Access, path: MemoryPath) -> SharedMemory {
        self.share_from(CONNECTION, bytes, access, path)
    }

    /// As [`share`](Self::share), for the commands of another connection.
    ///
    /// # Panics
    /// As [`share`](Self::share), and when the host of the connection has left.
    #[track_caller]
    pub fn share_from(
        &self,
        connection: u64,
        bytes: impl AsRef<[u8]>,
        access: Access,
        path: MemoryPath,
    ) -> SharedMemory {
        let bytes = bytes.as_ref();
        assert!(!bytes.is_empty(), "memory has at least one byte");
        assert!(
            access.others_read(),
            "{access:?} allows only the host to read: add PCI_READ_ONLY or PCI_READ_WRITE"
        );
        assert!(
            !self.instance.has_left(connection),
            "the host of connection {connection} has left: it can share no memory"
        );
        let services = Rc::clone(&self.instance.services);
        SharedMemory { memory: services.memories.share(connection, bytes, access, path), services }
    }
}

impl SharedMemory {
    /// Returns all of it as a command's range.
    #[must_use]
    pub fn range(&self) -> MemoryRange {
        self.memory.range()
    }

    /// Returns a part of it, in bytes from its start, as a command's range.
    ///
    /// # Panics
    /// When it is out of bounds.
    #[must_use]
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<u64>) -> MemoryRange {
        self.range().slice(range)
    }

    /// Returns all of it as the bytes of a host's `Mmap::export`.
    #[must_use]
    pub fn export(&self) -> [u8; Exported::LEN] {
        let address = self.view().as_ptr().addr() as u64;
        Exported::played(self.range(), address, self.memory.access).to_bytes()
    }

    /// Returns its bytes, which the test may always read and write.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        self.memory.view()
    }

    /// Returns a copy of its bytes.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.view().len() as usize];
        self.view().copy_to(0, &mut bytes).expect("a view has as many bytes as it says");
        bytes
    }

    /// Returns the path of its bytes.
    #[must_use]
    pub fn path(&self) -> MemoryPath {
        self.memory.path
    }

    /// Ends the share: later commands do not find the memory. Opened memory stays open.
    pub fn unshare(&self) {
        self.services.memories.unshare(&self.memory);
    }

    /// Returns the number of the plugin's `HostMemory` values of it or its parts.
    #[must_use]
    pub fn opened(&self) -> usize {
        self.services.memories.opened(&self.memory)
    }

    /// Makes its next operation end with `code`, such as `IO_FAILED` for memory that the host has
    /// unmapped, or `CONNECTION_RESET` for a lost host. Several calls queue up. Reads and writes of
    /// mapped memory cannot fail: they are not operations.
    pub fn fail_operation(&self, code: DocaError) {
        self.memory.failures.borrow_mut().push_back(code);
    }

    /// Makes operations that end in [`progress`](Worker::progress) wait for
    /// [`resume`](Self::resume), as on a slow network. Operations of a host that leaves still end.
    pub fn pause(&self) {
        self.memory.is_paused.set(true);
    }

    /// Ends a [pause](Self::pause): operations end in the next [`progress`](Worker::progress).
    pub fn resume(&self) {
        self.memory.is_paused.set(false);
    }

    /// Returns the number of its operations that have not ended.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.services.memories.in_flight(&self.memory)
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        self.unshare();
        // A pause could not be ended later.
        self.resume();
    }
}

impl fmt::Debug for SharedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedMemory({:?})", self.memory)
    }
}
