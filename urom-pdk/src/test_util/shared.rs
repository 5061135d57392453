//! Memory that a test shares with a plugin as its host would.

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

/// Memory that a host shares with the worker, until this is dropped or
/// [`unshare`](Self::unshare)d: from [`Worker::share`].
///
/// The [path](MemoryPath) decides what the plugin sees of it:
///
/// | path | reads and writes | atomic operations |
/// | --- | --- | --- |
/// | `MAPPED` | in place | at once |
/// | `PROCESS` | at once | by the next [`progress`](Worker::progress) |
/// | `NETWORK` | by the next `progress` | by the next `progress` |
///
/// What ends by `progress` waits while the memory is [paused](Self::pause).
#[must_use = "the memory is shared as long as this exists"]
pub struct SharedMemory {
    memory: Rc<PlayedMemory>,
    services: Rc<Services>,
}

impl<P: Protocol> Worker<P> {
    /// Shares a copy of these bytes with the worker, as the host of [`CONNECTION`] does with
    /// `Mmap::share`. Commands of that connection name it by [`SharedMemory::range`]. It begins at
    /// a multiple of 8.
    ///
    /// # Panics
    /// When there are no bytes, or nobody but the host may read them.
    #[track_caller]
    pub fn share(&self, bytes: impl AsRef<[u8]>, access: Access, path: MemoryPath) -> SharedMemory {
        self.share_from(CONNECTION, bytes, access, path)
    }

    /// The same from another connection, whose commands alone find it.
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
            "{access:?} lets nobody but the host read: add PCI_READ_ONLY or PCI_READ_WRITE"
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
    /// All of it, as a command carries it.
    #[must_use]
    pub fn range(&self) -> MemoryRange {
        self.memory.range()
    }

    /// A part of it, in bytes from its beginning, as a command carries it.
    ///
    /// # Panics
    /// When it does not lie within.
    #[must_use]
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<u64>) -> MemoryRange {
        self.range().slice(range)
    }

    /// All of it as the bytes that a host's `Mmap::export` gives.
    #[must_use]
    pub fn export(&self) -> [u8; Exported::LEN] {
        let address = self.view().as_ptr().addr() as u64;
        Exported::played(self.range(), address, self.memory.access).to_bytes()
    }

    /// Its bytes, which the test may read and write at any time, whatever the permissions are.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        self.memory.view()
    }

    /// A copy of its bytes.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.view().len() as usize];
        self.view().copy_to(0, &mut bytes).expect("a view has as many bytes as it says");
        bytes
    }

    /// Which way its bytes take.
    #[must_use]
    pub fn path(&self) -> MemoryPath {
        self.memory.path
    }

    /// Ends the share: commands that come later do not find the memory. What the plugin has open
    /// stays until it closes it.
    pub fn unshare(&self) {
        self.services.memories.unshare(&self.memory);
    }

    /// How many times the plugin has the memory, or a part of it, open: the values of `HostMemory`
    /// that it has not dropped.
    #[must_use]
    pub fn opened(&self) -> usize {
        self.services.memories.opened(&self.memory)
    }

    /// The next operation on it ends with `code`, such as `IO_FAILED` for memory that the host has
    /// unmapped, or `CONNECTION_RESET` for a host that is gone. Calls of this queue up. Reads and
    /// writes of mapped memory cannot fail so, because no operation takes part in them.
    pub fn fail_operation(&self, code: DocaError) {
        self.memory.failures.borrow_mut().push_back(code);
    }

    /// Operations that would end by [`progress`](Worker::progress) wait for
    /// [`resume`](Self::resume), as behind a slow network. Those of a host that leaves end all the
    /// same.
    pub fn pause(&self) {
        self.memory.is_paused.set(true);
    }

    /// Ends a [pause](Self::pause): what waits ends by the next [`progress`](Worker::progress).
    pub fn resume(&self) {
        self.memory.is_paused.set(false);
    }

    /// How many operations on it have not ended.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.services.memories.in_flight(&self.memory)
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        self.unshare();
        // Nobody could end the pause any more.
        self.resume();
    }
}

impl fmt::Debug for SharedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedMemory({:?})", self.memory)
    }
}
