//! A sync event as bytes, which another process of the same machine and user can import. The
//! importer opens the named process's descriptor, so the kernel checks its permission, and checks
//! the file before it maps it.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;
use urom_abi::DocaError;
use urom_abi::memory::Access;

use super::SyncEvent;
use crate::error::{Error, Result};
use crate::frame;
use crate::memfd::{map_received, not_mapped};
use crate::mmap::Mmap;

const MARK: [u8; 8] = *b"UROMsync";
const VERSION: u32 = 1;

/// Little-endian, as all structures of DOCA.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct EventBytes {
    mark: [u8; 8],
    version: u32,
    access: u32,
    process: i32,
    /// Negative for memory that others cannot open.
    fd: i32,
    /// With the inode, identifies the file.
    device: u64,
    inode: u64,
    offset: u64,
    /// For the C library: the other side's roles.
    roles: u32,
    reserved: [u32; 2],
    /// Over all bytes before.
    checksum: u32,
}

const _: () = assert!(size_of::<EventBytes>() == SyncEvent::EXPORTED_LEN);

impl SyncEvent {
    /// Size of an exported event in bytes.
    pub const EXPORTED_LEN: usize = 64;

    /// Returns the event as [64 bytes](Self::EXPORTED_LEN) for [`import`](Self::import) in another
    /// process of the same machine and user (`doca_sync_event_export_to_remote_pci`,
    /// `doca_sync_event_export_to_remote_net`). They are valid as long as the map. After this,
    /// [`Mmap::try_exclusive_bytes`] fails.
    ///
    /// Plugins do not need them: share the [map](Self::memory), and send the [range](Self::range).
    ///
    /// # Errors
    /// `NOT_PERMITTED` if only the owner may use the map.
    pub fn export(&self) -> Result<Vec<u8>> {
        self.export_for(0)
    }

    /// As [`export`](Self::export), with a number for the importer.
    #[doc(hidden)]
    pub fn export_for(&self, roles: u32) -> Result<Vec<u8>> {
        self.map.inner().check_export("the sync event in ")?;
        let mut bytes = EventBytes {
            mark: MARK,
            version: VERSION,
            access: self.map.access().bits(),
            process: std::process::id().cast_signed(),
            fd: -1,
            roles,
            offset: self.offset,
            ..EventBytes::zeroed()
        };
        if let Some((fd, begin)) = self.map.fd() {
            let status =
                fstat(fd).map_err(|error| Error::system("exporting a sync event", error.into()))?;
            bytes.fd = fd.as_raw_fd();
            (bytes.device, bytes.inode) = (status.st_dev, status.st_ino);
            bytes.offset += begin;
        }
        bytes.checksum = frame::checksum(bytemuck::bytes_of(&bytes));
        Ok(bytemuck::bytes_of(&bytes).to_vec())
    }

    /// Opens another process's event from any bytes (`doca_sync_event_create_from_export`). This
    /// process may write if the owner's map lets others write. The event outlives its owner.
    ///
    /// # Errors
    /// - `INVALID_VALUE` if the bytes are not an exported event, or damaged, or name unsafe memory;
    /// - `UNSUPPORTED_VERSION` for the format of another release;
    /// - `NOT_SUPPORTED` for memory that is not from [`new`](Self::new) or [`Mmap::allocate`];
    /// - `NOT_FOUND` if the owner has ended, freed the event, or is on another machine;
    /// - `NOT_PERMITTED` if the owner is another user's or only the owner may use its map;
    /// - `OPERATING_SYSTEM` if it cannot be opened or mapped.
    pub fn import(bytes: &[u8]) -> Result<SyncEvent> {
        SyncEvent::import_for(bytes).map(|(event, _)| event)
    }

    /// As [`import`](Self::import), and returns the number of [`export_for`](Self::export_for).
    #[doc(hidden)]
    pub fn import_for(bytes: &[u8]) -> Result<(SyncEvent, u32)> {
        let bytes: EventBytes = frame::read(bytes, "sync event", MARK, VERSION)?;
        let access = Access::from_bits(bytes.access).filter(|access| access.others_read());
        let Some(access) = access else {
            return Err(Error::not_permitted(
                "the exported sync event lacks a permission for others",
            ));
        };
        if bytes.fd < 0 {
            return Err(Error::new(
                DocaError::NOT_SUPPORTED,
                "the exported sync event is in memory that other processes cannot open: have its \
                 owner make it without an address of its own, or in memory of Mmap::allocate",
            ));
        }
        if !bytes.offset.is_multiple_of(8) {
            return Err(Error::invalid(format!(
                "the exported sync event is not aligned: {} is not a multiple of 8",
                bytes.offset
            )));
        }
        let is_writable = access.others_write();
        let fd = open_of(&bytes, is_writable)?;
        let mapping = map_received(fd.as_fd(), bytes.offset, 8, is_writable)
            .map_err(|error| not_mapped(bytes.offset, 8, error))?;
        let others = access.difference(Access::LOCAL_READ_WRITE);
        let own = if is_writable { Access::LOCAL_READ_WRITE } else { Access::LOCAL_READ_ONLY };
        let map = Mmap::received(mapping, 8, others | own);
        // The offset is aligned within its page.
        Ok((SyncEvent { map: Arc::new(map), offset: 0 }, bytes.roles))
    }
}

/// Opens only the exported memory: opening a pipe or a device may have side effects.
fn open_of(bytes: &EventBytes, is_writable: bool) -> Result<OwnedFd> {
    let EventBytes { process, fd, device, inode, .. } = *bytes;
    let what = || format!("the sync event of process {process} (descriptor {fd})");
    let failed = |error: Errno| match error {
        Errno::NOENT | Errno::SRCH => Error::new(
            DocaError::NOT_FOUND,
            format!(
                "{} is gone: its owner has ended, freed it, or is on another machine or in another \
                 container",
                what()
            ),
        ),
        Errno::ACCESS | Errno::PERM => Error::not_permitted(format!(
            "{} is another user's, or its owner cannot be traced",
            what()
        )),
        error => Error::system(&format!("opening {}", what()), error.into()),
    };
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let handle = open(format!("/proc/{process}/fd/{fd}"), flags, Mode::empty()).map_err(failed)?;
    let status = fstat(&handle).map_err(failed)?;
    let is_file = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
    if !is_file || (status.st_dev, status.st_ino) != (device, inode) {
        return Err(Error::new(
            DocaError::NOT_FOUND,
            format!("{} has ended: its number names another process", what()),
        ));
    }
    let access = if is_writable { OFlags::RDWR } else { OFlags::RDONLY };
    let path = format!("/proc/self/fd/{}", handle.as_raw_fd());
    open(path, access | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty()).map_err(failed)
}
