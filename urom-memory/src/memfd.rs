//! Memfds: memory that several processes can map.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Once;

use memmap2::{MmapOptions, MmapRaw};
use rustix::fs::{
    MemfdFlags, Mode, OFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, fstatfs,
    ftruncate, memfd_create, open,
};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use crate::error::{Error, Result};

#[derive(Debug)]
pub(crate) struct Memfd {
    pub(crate) map: MmapRaw,
    fd: OwnedFd,
    others_write: bool,
    was_sealed: Once,
}

impl Memfd {
    /// Allocates `len` zeros. The size is sealed, because shrinking would cause a SIGBUS.
    pub(crate) fn new(len: u64, others_write: bool) -> Result<Memfd> {
        let (fd, map) = create("urom-memory", len)
            .map_err(|error| Error::system(&format!("{len} bytes of memory to share"), error))?;
        Ok(Memfd { map, fd, others_write, was_sealed: Once::new() })
    }

    /// Returns the descriptor, and seals it against new writable mappings unless others may write.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.was_sealed.call_once(|| {
            if !self.others_write {
                // A read-only descriptor is not enough: a process of the same user can reopen it
                // for writing through /proc. Kernels before 5.1 lack this seal.
                let _ = fcntl_add_seals(&self.fd, SealFlags::FUTURE_WRITE);
            }
            // Fails if the seal is already set.
            let _ = fcntl_add_seals(&self.fd, SealFlags::SEAL);
        });
        self.fd.as_fd()
    }

    /// Returns the descriptor for a worker that acts as a device; `None` after `fd` sealed it.
    pub(crate) fn device_fd(&self) -> Option<BorrowedFd<'_>> {
        let is_writable = self.others_write || !self.was_sealed.is_completed();
        is_writable.then(|| self.fd.as_fd())
    }

    pub(crate) fn reopen_read_only(fd: BorrowedFd<'_>) -> Result<OwnedFd> {
        let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
        open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(|error| {
            // Also if /proc belongs to another PID namespace.
            let what = match error {
                Errno::NOENT => "opening shared memory read-only, which needs this process's /proc",
                _ => "opening shared memory read-only",
            };
            Error::system(what, error.into())
        })
    }
}

/// Checks that this process may write files, or memfds, of `len` bytes without a `SIGXFSZ`.
///
/// # Errors
/// When the limit is lower; the text contains the limit.
#[doc(hidden)]
pub fn require_file_size(len: u64) -> io::Result<()> {
    match getrlimit(Resource::Fsize).current {
        Some(limit) if limit < len => Err(io::Error::other(format!(
            "a file of {len} bytes is needed, and this process may write {limit}: raise the limit \
             (`ulimit -f`, LimitFSIZE=)"
        ))),
        _ => Ok(()),
    }
}

/// Makes a memfd of `len` zeros with a sealed size, and maps it.
///
/// # Errors
/// The system's error.
#[doc(hidden)]
pub fn create(name: &str, len: u64) -> io::Result<(OwnedFd, MmapRaw)> {
    require_file_size(len)?;
    let fd = memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    ftruncate(&fd, len)?;
    let map = map(fd.as_fd(), 0, len, true)?;
    fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW)?;
    Ok((fd, map))
}

fn map(fd: BorrowedFd<'_>, offset: u64, len: u64, is_writable: bool) -> io::Result<MmapRaw> {
    let size = usize::try_from(len).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let mut options = MmapOptions::new();
    options.offset(offset).len(size);
    let fd = fd.as_raw_fd();
    if is_writable { options.map_raw(fd) } else { options.map_raw_read_only(fd) }
}

/// Maps memory that another process sent: `len` bytes at `offset`, which must outlive the mapping.
///
/// # Errors
/// The system's error, or `InvalidInput` for an unsuitable descriptor.
#[doc(hidden)]
pub fn map_received(
    fd: BorrowedFd<'_>,
    offset: u64,
    len: u64,
    is_writable: bool,
) -> io::Result<MmapRaw> {
    let Ok(seals) = fcntl_get_seals(fd) else {
        return Err(invalid("its descriptor is not a memfd (memfd_create)"));
    };
    // Otherwise the owner could shrink it, and crash this process.
    if !seals.contains(SealFlags::SHRINK) {
        return Err(invalid("its descriptor is not sealed against shrinking (F_SEAL_SHRINK)"));
    }
    // A hole can remove huge pages, and leave none to replace them.
    if fstatfs(fd)?.f_type == libc::HUGETLBFS_MAGIC {
        return Err(invalid("its descriptor has huge pages (MFD_HUGETLB)"));
    }
    let size = fstat(fd)?.st_size.cast_unsigned();
    if offset.checked_add(len).is_none_or(|end| end > size) {
        return Err(invalid("its descriptor has not as many bytes"));
    }
    map(fd, offset, len, is_writable)
}

pub(crate) fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

pub(crate) fn not_mapped(offset: u64, len: u64, error: io::Error) -> Error {
    let what = format!("mapping {len} bytes at {offset} of shared memory");
    match error.kind() {
        io::ErrorKind::InvalidInput => Error::invalid(format!("{what}: {error}")),
        _ => Error::system(&what, error),
    }
}
