//! Memory that several processes can map: memfds.

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

/// A memfd and where this process has it.
#[derive(Debug)]
pub(crate) struct Memfd {
    pub(crate) map: MmapRaw,
    fd: OwnedFd,
    others_write: bool,
    was_sealed: Once,
}

impl Memfd {
    /// New memory, all zeros. Its size is sealed, because a process that maps it would get a SIGBUS
    /// if it shrank.
    pub(crate) fn new(len: u64, others_write: bool) -> Result<Memfd> {
        let (fd, map) = create("urom-memory", len)
            .map_err(|error| Error::system(&format!("{len} bytes of memory to share"), error))?;
        Ok(Memfd { map, fd, others_write, was_sealed: Once::new() })
    }

    /// The descriptor, for somebody else. Unless others may write, writes are possible from now on
    /// through mappings that exist only (from Linux 5.1 on).
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.was_sealed.call_once(|| {
            if !self.others_write {
                // A descriptor that is opened read-only is not enough: a process of the same user
                // can open it again for writing, by way of /proc. Kernels before 5.1 do not have
                // this seal.
                let _ = fcntl_add_seals(&self.fd, SealFlags::FUTURE_WRITE);
            }
            // It fails if it is there.
            let _ = fcntl_add_seals(&self.fd, SealFlags::SEAL);
        });
        self.fd.as_fd()
    }

    /// The descriptor, for a worker that does what a device of this process does; `None` once it
    /// was given to somebody who may only read: the kernel refuses writes by new mappings then.
    pub(crate) fn device_fd(&self) -> Option<BorrowedFd<'_>> {
        let is_writable = self.others_write || !self.was_sealed.is_completed();
        is_writable.then(|| self.fd.as_fd())
    }

    pub(crate) fn reopen_read_only(fd: BorrowedFd<'_>) -> Result<OwnedFd> {
        let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
        open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(|error| {
            // Also where /proc is that of another PID namespace.
            let what = match error {
                Errno::NOENT => "opening shared memory read-only, which needs this process's /proc",
                _ => "opening shared memory read-only",
            };
            Error::system(what, error.into())
        })
    }
}

/// Checks that this process may write files of so many bytes, memfds among them. The signal
/// `SIGXFSZ` would end one that writes more than it may.
///
/// # Errors
/// It may not: the text names the limit.
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

/// A new memfd of `len` zeros, whose size is sealed, and its mapping.
///
/// # Errors
/// The system's.
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

/// Maps memory that another process sent: `len` bytes at `offset`, which must be there for as long
/// as the mapping is.
///
/// # Errors
/// The system's, and `InvalidInput` for a descriptor of something else.
#[doc(hidden)]
pub fn map_received(
    fd: BorrowedFd<'_>,
    offset: u64,
    len: u64,
    is_writable: bool,
) -> io::Result<MmapRaw> {
    let Ok(seals) = fcntl_get_seals(fd) else {
        return Err(invalid("its descriptor is not that of a memfd (memfd_create)"));
    };
    // Otherwise its owner could take pages away, which would crash this process.
    if !seals.contains(SealFlags::SHRINK) {
        return Err(invalid("its descriptor is not sealed against shrinking (F_SEAL_SHRINK)"));
    }
    // Pages of another size can be taken away by a hole, and none be left in their place.
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

/// The same for a user of this crate.
pub(crate) fn not_mapped(offset: u64, len: u64, error: io::Error) -> Error {
    let what = format!("mapping {len} bytes at {offset} of shared memory");
    match error.kind() {
        io::ErrorKind::InvalidInput => Error::invalid(format!("{what}: {error}")),
        _ => Error::system(&what, error),
    }
}
