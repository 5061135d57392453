//! The bytes of an exported memory handle: the range and its arena.

use bytemuck::{Pod, Zeroable};

use crate::arena::ArenaId;
use crate::memfd::FileId;
use crate::slot::is_slot;

/// Magic bytes. The first is not zero: UCX treats zeros as an empty handle.
pub(crate) const MARK: [u8; 8] = *b"UROMxgvm";

const VERSION: u32 = 1;

/// Size of a handle in bytes. Two must fit in UCC's 1024 bytes.
pub(crate) const HANDLE_LEN: usize = size_of::<PackedHandle>();

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
struct PackedHandle {
    mark: [u8; 8],
    version: u32,
    len: u32,
    address: u64,
    length: u64,
    base: u64,
    size: u64,
    dev: u64,
    ino: u64,
    pid: u32,
    fd: i32,
    cookie: [u8; 16],
    /// Checksum of all bytes before it. It detects corruption; the cookie authenticates.
    sum: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemoryHandle {
    pub(crate) address: usize,
    pub(crate) length: usize,
    pub(crate) arena: ArenaId,
    pub(crate) pid: u32,
}

impl MemoryHandle {
    pub(crate) fn pack(&self) -> [u8; HANDLE_LEN] {
        let ArenaId { base, size, fd, file, cookie } = self.arena;
        let mut packed = PackedHandle {
            mark: MARK,
            version: VERSION,
            len: HANDLE_LEN as u32,
            address: self.address as u64,
            length: self.length as u64,
            base: base as u64,
            size: size as u64,
            dev: file.dev,
            ino: file.ino,
            pid: self.pid,
            fd,
            cookie,
            sum: 0,
        };
        packed.sum = sum(&packed);
        bytemuck::cast(packed)
    }

    /// # Errors
    /// Why the bytes are not a valid handle.
    pub(crate) fn unpack(bytes: &[u8]) -> Result<MemoryHandle, &'static str> {
        if !bytes.starts_with(&MARK) {
            return Err("the bytes are not a handle that this emulation exported");
        }
        let Some(bytes) = bytes.get(..HANDLE_LEN) else {
            return Err("the handle's bytes end too early");
        };
        let packed: PackedHandle = bytemuck::pod_read_unaligned(bytes);
        if packed.version != VERSION || packed.len as usize != HANDLE_LEN {
            return Err("the handle belongs to another version of this emulation");
        }
        if packed.sum != sum(&packed) {
            return Err("the handle's bytes were changed or cut off");
        }
        let offset = packed.address.checked_sub(packed.base);
        let end = offset.and_then(|offset| offset.checked_add(packed.length));
        if !is_slot(packed.base, packed.size)
            || packed.length == 0
            || packed.fd < 0
            || end.is_none_or(|end| end > packed.size)
        {
            return Err("the handle's range is not in an arena");
        }
        let word = |word: u64| usize::try_from(word).map_err(|_| "the handle has other addresses");
        Ok(MemoryHandle {
            address: word(packed.address)?,
            length: word(packed.length)?,
            arena: ArenaId {
                base: word(packed.base)?,
                size: word(packed.size)?,
                fd: packed.fd,
                file: FileId { dev: packed.dev, ino: packed.ino },
                cookie: packed.cookie,
            },
            pid: packed.pid,
        })
    }
}

/// FNV-1a.
fn sum(packed: &PackedHandle) -> u64 {
    let bytes = bytemuck::bytes_of(packed);
    let summed = &bytes[..std::mem::offset_of!(PackedHandle, sum)];
    summed.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
#[path = "handle_tests.rs"]
mod tests;
