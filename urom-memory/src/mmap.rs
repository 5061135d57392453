//! [`Mmap`]: memory of this process that it can share with other processes.

use std::ops::Deref;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use memmap2::MmapRaw;
use urom_abi::DocaError;
use urom_abi::memory::{Access, MemoryRange};

use crate::error::{Error, Result};
use crate::exported::Exported;
use crate::inner::{Backing, MapInner, next_id};
use crate::memfd::Memfd;
use crate::view::View;

/// A range of this process's memory that can be shared, with permissions (`doca_mmap`).
///
/// The memory stays allocated until the map, all its buffers and all its shares are dropped. Any
/// thread may use a map. Offsets and lengths are in bytes.
#[derive(Debug)]
pub struct Mmap {
    inner: Arc<MapInner>,
}

impl Mmap {
    /// Allocates `len` zero bytes that other processes of this machine can map (`doca_mmap_create`,
    /// `doca_mmap_set_memrange` and `doca_mmap_start` with the kit's own allocator).
    ///
    /// The memory is a page-aligned memfd of a fixed size. It is the fastest memory to share,
    /// because a worker on the same machine maps it. Unless `access` lets others write, the kernel
    /// refuses their writes (from Linux 5.1 on), except writes of a worker that acts as a device:
    /// see `Share::share_with_device` of `urom_host`.
    ///
    /// # Errors
    /// `INVALID_VALUE` if `len` is 0, `NO_MEMORY` or `OPERATING_SYSTEM` when the system refuses.
    pub fn allocate(len: usize, access: Access) -> Result<Mmap> {
        check_len(len)?;
        let memory = Memfd::new(len as u64, access.others_write())?;
        let address = memory.map.as_mut_ptr();
        Ok(Mmap::new(address, len, access, Backing::Memfd(memory)))
    }

    /// Makes a map of a vector's bytes, which are not moved or copied. The map owns and frees them.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the vector is empty.
    pub fn from_vec(bytes: Vec<u8>, access: Access) -> Result<Mmap> {
        check_len(bytes.len())?;
        let mut bytes = std::mem::ManuallyDrop::new(bytes);
        let (start, len, capacity) = (bytes.as_mut_ptr(), bytes.len(), bytes.capacity());
        Ok(Mmap::new(start, len, access, Backing::Vec { start, capacity }))
    }

    /// Makes a map of a boxed slice, as [`from_vec`](Self::from_vec).
    ///
    /// # Errors
    /// `INVALID_VALUE` if the slice is empty.
    pub fn from_boxed(bytes: Box<[u8]>, access: Access) -> Result<Mmap> {
        Mmap::from_vec(bytes.into_vec(), access)
    }

    /// Makes a map of the caller's memory, `len` bytes at `start` (`doca_mmap_set_memrange` and
    /// `doca_mmap_start`). The map does not free it.
    ///
    /// # Safety
    /// While the map, a share or a buffer of it exists, `start` is valid for reads of `len` bytes
    /// by any thread, and for writes if `access` permits any writes. In that time, no Rust
    /// reference covers these bytes, except the slice of
    /// [`try_exclusive_bytes`](Self::try_exclusive_bytes).
    ///
    /// # Errors
    /// `INVALID_VALUE` if `len` is 0, `start` is NULL, or the range goes beyond the last address.
    pub unsafe fn from_raw(start: *mut u8, len: usize, access: Access) -> Result<Mmap> {
        check_len(len)?;
        if start.is_null() || start.addr().checked_add(len).is_none() {
            return Err(Error::invalid(format!("there cannot be {len} bytes at {start:p}")));
        }
        Ok(Mmap::new(start, len, access, Backing::Lent(start)))
    }

    fn new(start: *mut u8, len: usize, access: Access, backing: Backing) -> Mmap {
        let range = MemoryRange { memory: next_id(), offset: 0, len: len as u64 };
        Mmap::of(MapInner::new(Exported::played(range, start.addr() as u64, access), backing))
    }

    /// Memory of another process that is mapped here. `access` decides whether it is writable.
    pub(crate) fn received(map: MmapRaw, len: usize, access: Access) -> Mmap {
        let is_writable = access.contains(Access::LOCAL_READ_WRITE);
        Mmap::new(map.as_mut_ptr(), len, access, Backing::Received { map, is_writable })
    }

    pub(crate) fn of(inner: Arc<MapInner>) -> Mmap {
        Mmap { inner }
    }

    pub(crate) fn again(&self) -> Mmap {
        Mmap::of(Arc::clone(&self.inner))
    }

    pub(crate) fn inner(&self) -> &Arc<MapInner> {
        &self.inner
    }

    /// Returns the length in bytes; at least one (`doca_mmap_get_memrange`).
    #[must_use]
    pub fn len(&self) -> u64 {
        self.inner.len
    }

    /// Returns `false`: a map has at least one byte.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Returns the permissions of this process and of others (`doca_mmap_set_permissions`).
    #[must_use]
    pub fn access(&self) -> Access {
        self.inner.access
    }

    /// Returns the address of the first byte in this process (`doca_mmap_get_memrange`).
    #[must_use]
    pub fn address(&self) -> u64 {
        self.inner.address
    }

    /// Returns the map's number in commands, which is unique in this process. Two processes rarely
    /// use the same number, and a worker does not confuse their maps anyway.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.inner.id
    }

    /// Returns the whole map as a command's field.
    #[must_use]
    pub fn range(&self) -> MemoryRange {
        MemoryRange { memory: self.id(), offset: 0, len: self.len() }
    }

    /// Returns a view of the bytes, which other processes may write at any time if `access` permits
    /// it. The view is writable if the map has `LOCAL_READ_WRITE`.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        self.inner.view().expect("a map of this process is mapped here")
    }

    /// Returns the bytes as a slice, if this is the memory's only user.
    ///
    /// # Errors
    /// `IN_USE` while a share or a buffer exists, and always after [`fd`](Self::fd), because the
    /// descriptor's users are not counted. `NOT_PERMITTED` without `LOCAL_READ_WRITE`.
    pub fn try_exclusive_bytes(&mut self) -> Result<&mut [u8]> {
        self.inner.check()?;
        let Some(inner) = Arc::get_mut(&mut self.inner) else {
            return Err(Error::new(
                DocaError::IN_USE,
                "the memory is shared or has buffers: await `unshare` of its shares and drop its \
                 buffers, or use its view; a share that was dropped ends a little later",
            ));
        };
        if *inner.is_given_away.get_mut() {
            return Err(Error::new(
                DocaError::IN_USE,
                "the memory's descriptor was given away, and others may write to it: use its view",
            ));
        }
        // SAFETY: the only owner is borrowed exclusively, so other views, shares and buffers do not
        // exist, and the descriptor was not given away.
        unsafe { self.view().as_mut_slice() }
    }

    /// The former name of [`try_exclusive_bytes`](Self::try_exclusive_bytes).
    #[deprecated(note = "renamed to `try_exclusive_bytes`")]
    pub fn bytes(&mut self) -> Result<&mut [u8]> {
        self.try_exclusive_bytes()
    }

    /// Counts a user of the memory: see [`try_exclusive_bytes`](Self::try_exclusive_bytes).
    #[doc(hidden)]
    #[must_use]
    pub fn begin_share(&self) -> ShareGuard {
        ShareGuard::of(&self.inner)
    }

    /// Returns the number of shares and buffers.
    #[doc(hidden)]
    #[must_use]
    pub fn shares(&self) -> usize {
        Arc::strong_count(&self.inner) - 1
    }

    /// Returns the number of buffers in the map (`doca_mmap_get_num_bufs`).
    #[must_use]
    pub fn buffers(&self) -> u32 {
        self.inner.buffers.load(Ordering::Relaxed)
    }

    /// Returns the memory's descriptor, which another process can map, and the map's offset in it
    /// in bytes. Returns `None` unless the memory is from [`allocate`](Self::allocate). The map
    /// owns the descriptor. After this call,
    /// [`try_exclusive_bytes`](Self::try_exclusive_bytes) fails.
    ///
    /// Unless `access` lets others write, the kernel refuses a writable mapping (from Linux 5.1
    /// on). Otherwise, give readers a [`read_only_fd`](Self::read_only_fd).
    #[must_use]
    pub fn fd(&self) -> Option<(BorrowedFd<'_>, u64)> {
        let descriptor = self.descriptor()?;
        self.inner.is_given_away.store(true, Ordering::Relaxed);
        Some(descriptor)
    }

    fn descriptor(&self) -> Option<(BorrowedFd<'_>, u64)> {
        match &self.inner.backing {
            Backing::Memfd(memory) => Some((memory.fd(), 0)),
            _ => None,
        }
    }

    /// Returns a new read-only descriptor of the same memory, or `None` unless the memory is from
    /// [`allocate`](Self::allocate). The caller owns it.
    ///
    /// If others may write, a process of the same user can reopen it for writing through `/proc`.
    ///
    /// # Errors
    /// `OPERATING_SYSTEM` when it cannot be opened, for example because `/proc` is not mounted.
    pub fn read_only_fd(&self) -> Result<Option<OwnedFd>> {
        self.inner.check()?;
        if self.access().others_write() {
            self.inner.is_given_away.store(true, Ordering::Relaxed);
        }
        self.descriptor().map(|(fd, _)| Memfd::reopen_read_only(fd)).transpose()
    }

    /// Returns the map as [64 bytes](Exported::LEN) that a peer reads with [`Exported::read`]
    /// (`doca_mmap_export_pci`). They give no access: the host must also share the map. For the
    /// RDMA plugin, `rdma_host::Rdma::export_mmap` does both.
    ///
    /// # Errors
    /// `NOT_PERMITTED` without `PCI_READ_ONLY`, `PCI_READ_WRITE` or an `RDMA_` permission.
    pub fn export(&self) -> Result<Vec<u8>> {
        self.inner.check_export("")?;
        Ok(Exported::of(&self.inner).to_bytes().to_vec())
    }
}

fn check_len(len: usize) -> Result<()> {
    if len == 0 { Err(Error::invalid("a memory map needs at least one byte")) } else { Ok(()) }
}

/// A counted user of a map's memory, which stays allocated while this guard exists.
#[doc(hidden)]
#[derive(Debug)]
pub struct ShareGuard(Mmap);

impl ShareGuard {
    pub(crate) fn of(map: &Arc<MapInner>) -> ShareGuard {
        ShareGuard(Mmap { inner: Arc::clone(map) })
    }

    /// As [`Mmap::fd`], but counted: the descriptor's user must stop before this guard is dropped.
    #[must_use]
    pub fn fd(&self) -> Option<(BorrowedFd<'_>, u64)> {
        self.0.descriptor()
    }

    /// As [`fd`](Self::fd), for a worker that acts as a device of this process and may map the
    /// memory writable. `None` also if a read-only user received the memory before.
    #[must_use]
    pub fn device_fd(&self) -> Option<(BorrowedFd<'_>, u64)> {
        match &self.0.inner.backing {
            Backing::Memfd(memory) => memory.device_fd().map(|fd| (fd, 0)),
            _ => None,
        }
    }
}

impl Deref for ShareGuard {
    type Target = Mmap;

    fn deref(&self) -> &Mmap {
        &self.0
    }
}
