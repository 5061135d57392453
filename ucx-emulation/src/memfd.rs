//! Shared memory: a sparse, sealed memfd with a random cookie in its header.

use std::os::fd::{AsFd, OwnedFd};

use bytemuck::{Pod, Zeroable};
use rustix::fs::{MemfdFlags, SealFlags, Stat};
use rustix::io::Errno;

/// Seals the size and the seals: truncation would cause SIGBUS in other processes.
pub(crate) const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

const MARK: [u8; 16] = *b"UROM emulation\0\x01";

/// Programs rarely close or replace descriptors from this number on.
pub(crate) const HIGH: i32 = 900;

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub(crate) struct ArenaHeader {
    mark: [u8; 16],
    /// Random. Only handles of this arena contain it.
    cookie: [u8; 16],
    base: u64,
    size: u64,
}

pub(crate) const HEADER_LEN: usize = size_of::<ArenaHeader>();

impl ArenaHeader {
    pub(crate) fn new(base: usize, size: usize, cookie: [u8; 16]) -> ArenaHeader {
        ArenaHeader { mark: MARK, cookie, base: base as u64, size: size as u64 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId {
    pub(crate) dev: u64,
    pub(crate) ino: u64,
}

impl FileId {
    pub(crate) fn of(stat: &Stat) -> FileId {
        FileId { dev: stat.st_dev, ino: stat.st_ino }
    }
}

/// An arena's file. Other processes open it.
pub(crate) struct SharedFile {
    pub(crate) memfd: OwnedFd,
    pub(crate) file: FileId,
    pub(crate) cookie: [u8; 16],
}

impl SharedFile {
    /// Creates a memfd with a fixed size, close-on-exec.
    pub(crate) fn create(base: usize, size: usize) -> Result<SharedFile, Errno> {
        let name = c"urom-ucx-emulation";
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        // Older kernels do not support `NOEXEC_SEAL`; some newer kernels require it.
        let memfd = match rustix::fs::memfd_create(name, flags | MemfdFlags::NOEXEC_SEAL) {
            Err(Errno::INVAL) => rustix::fs::memfd_create(name, flags)?,
            result => result?,
        };
        rustix::fs::ftruncate(&memfd, size as u64)?;
        let mut cookie = [0; 16];
        if rustix::rand::getrandom(&mut cookie, rustix::rand::GetRandomFlags::empty())?
            != cookie.len()
        {
            return Err(Errno::AGAIN);
        }
        let header = ArenaHeader::new(base, size, cookie);
        if rustix::io::pwrite(&memfd, bytemuck::bytes_of(&header), 0)? != HEADER_LEN {
            return Err(Errno::IO);
        }
        rustix::fs::fcntl_add_seals(&memfd, SEALS)?;
        let memfd = rustix::io::fcntl_dupfd_cloexec(&memfd, HIGH).unwrap_or(memfd);
        let stat = rustix::fs::fstat(&memfd)?;
        Ok(SharedFile { memfd, file: FileId::of(&stat), cookie })
    }

    /// Returns the descriptor. `None` if the program has closed it, and perhaps opened another file
    /// under its number.
    pub(crate) fn own_memfd(&self) -> Option<&OwnedFd> {
        let stat = rustix::fs::fstat(&self.memfd).ok()?;
        (FileId::of(&stat) == self.file).then_some(&self.memfd)
    }
}

pub(crate) fn has_header(memfd: impl AsFd, expected: &ArenaHeader) -> bool {
    let mut found = ArenaHeader::zeroed();
    let read = rustix::io::pread(memfd, bytemuck::bytes_of_mut(&mut found), 0);
    read == Ok(HEADER_LEN) && found == *expected
}
