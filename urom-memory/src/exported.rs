//! [`Exported`]: a map as bytes that travel between processes.

use bytemuck::{Pod, Zeroable};
use urom_abi::memory::{Access, MemoryRange};

use crate::error::{Error, Result};
use crate::frame;
use crate::inner::MapInner;

const MARK: [u8; 8] = *b"UROMmmap";
const VERSION: u32 = 1;

/// A memory map of another process, as its owner exported it: the `export_desc` of
/// `doca_mmap_export_pci` and `doca_mmap_create_from_export`.
///
/// The bytes may be forged, and give no access. A plugin passes [`range`](Self::range), or a part
/// of it, to `Context::memory`, which checks the host's actual shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exported {
    id: u64,
    address: u64,
    len: u64,
    access: Access,
}

/// Little-endian, as all structures of DOCA.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct MapBytes {
    mark: [u8; 8],
    version: u32,
    access: u32,
    id: u64,
    address: u64,
    len: u64,
    reserved: [u64; 2],
    unused: u32,
    /// Over all bytes before.
    checksum: u32,
}

const _: () = assert!(size_of::<MapBytes>() == Exported::LEN);

impl Exported {
    /// Size of an exported map in bytes.
    pub const LEN: usize = 64;

    pub(crate) fn of(map: &MapInner) -> Exported {
        Exported { id: map.id, address: map.address, len: map.len, access: map.access }
    }

    /// Also makes a map of a simulated process, for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn played(range: MemoryRange, address: u64, access: Access) -> Exported {
        Exported { id: range.memory, address, len: range.len, access }
    }

    /// Returns the bytes for [`read`](Self::read).
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Exported::LEN] {
        let mut bytes = MapBytes {
            mark: MARK,
            version: VERSION,
            access: self.access.bits(),
            id: self.id,
            address: self.address,
            len: self.len,
            ..MapBytes::zeroed()
        };
        bytes.checksum = frame::checksum(bytemuck::bytes_of(&bytes));
        bytemuck::cast(bytes)
    }

    /// Returns whether the bytes begin like an exported map of this kit. They may be damaged.
    #[must_use]
    pub fn is_meant_by(bytes: &[u8]) -> bool {
        bytes.starts_with(&MARK)
    }

    /// Reads an exported map from bytes of any origin.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the bytes are not an exported map, or are truncated or damaged;
    /// `UNSUPPORTED_VERSION` for another release's format; `NOT_PERMITTED` for a private map.
    pub fn read(bytes: &[u8]) -> Result<Exported> {
        let bytes: MapBytes = frame::read(bytes, "memory map", MARK, VERSION)?;
        let Some(access) = Access::from_bits(bytes.access) else {
            return Err(Error::invalid(format!(
                "the exported memory map has unknown permissions: {:#x}",
                bytes.access
            )));
        };
        if !access.others_read() {
            return Err(Error::not_permitted(
                "the exported memory map lacks a permission for others",
            ));
        }
        let MapBytes { id, address, len, .. } = bytes;
        if id == 0 || len == 0 || address.checked_add(len).is_none() {
            return Err(Error::invalid(format!(
                "there cannot be exported memory of {len} bytes at {address:#x}"
            )));
        }
        Ok(Exported { id, address, len, access })
    }

    /// Returns the map's number in its owner's process.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the address of the first byte in its owner's process.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Returns the length in bytes; at least one.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns the permissions of its owner and of others (`enum doca_access_flag`).
    #[must_use]
    pub fn access(&self) -> Access {
        self.access
    }

    /// Returns the whole map as a command's field.
    #[must_use]
    pub fn range(&self) -> MemoryRange {
        MemoryRange { memory: self.id, offset: 0, len: self.len }
    }
}
