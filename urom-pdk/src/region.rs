//! Memory that a plugin works on, in any location.

mod transfer;

use std::fmt;
use std::ops::{Range, RangeBounds};
use std::rc::Rc;

use ucx::{Endpoint, Features, Imported, Memory, RemoteMemory, Status, Worker};
use urom_abi::memory::bounds;
use zerocopy::FromZeros;

use crate::memory::{HostMemory, View};
use crate::{Context, DocaError, Error, OrCode, Result, ensure};

/// Most bytes copied without a pause.
const BLOCK: u64 = 1 << 20;

/// Memory of this worker, of a host or of a device, with one interface for all.
///
/// | memory | made by | its bytes |
/// | --- | --- | --- |
/// | of this worker | [`allocate`](Self::allocate) | in this process |
/// | shared by a host | `From<HostMemory>` | on the host's [path](HostMemory::path) |
/// | exported for a device | [`import`](Self::import) | accessible only to an RDMA device |
/// | of another process | [`remote`](Self::remote) | reached by one-sided UCX |
///
/// A region has a range of addresses in its owner's process: [`at`](Self::at) finds the bytes at an
/// owner's address. Every operation checks the bounds and permissions. Offsets and lengths are in
/// bytes. Clones and parts share the memory. They stay on the worker's thread.
///
/// ```
/// use urom_pdk::Region;
/// use urom_pdk::memory::MemoryRange;
/// use urom_pdk::prelude::*;
///
/// /// Copies 4096 bytes from one host buffer to another.
/// async fn copy(cx: &Context, from: MemoryRange, to: MemoryRange) -> Result<()> {
///     let [from, to] = [cx.memory(from)?, cx.memory(to)?].map(Region::from);
///     from.part(..4096)?.copy_to(&to.part(..4096)?).await
/// }
/// ```
#[derive(Clone)]
pub struct Region {
    memory: RegionMemory,
    /// The offset of the first byte in the memory; 0 in memory of a host.
    start: u64,
    len: u64,
    address: u64,
}

#[derive(Clone)]
enum RegionMemory {
    Here(Memory),
    Host(HostMemory),
    Imported(Imported),
    Remote { memory: Rc<RemoteMemory>, imported: Option<Imported> },
}

impl Region {
    /// Allocates zeroed memory of this worker, registered with UCX.
    ///
    /// # Errors
    /// `NO_MEMORY`, and `DRIVER` with UCX's error.
    pub fn allocate(worker: &Worker, len: u64) -> Result<Region> {
        let length = usize::try_from(len).or_code(DocaError::NO_MEMORY, "allocating memory")?;
        let memory = Memory::allocate(worker.context(), length);
        let memory = memory.or_code(DocaError::DRIVER, "registering new memory")?;
        Ok(Region { memory: RegionMemory::Here(memory), start: 0, len, address: 0 })
    }

    /// Returns the feature that [`import`](Self::import) needs, if it is possible.
    pub fn import_features() -> Features {
        if Imported::is_possible() { Features::EXPORTED_MEMH } else { Features::empty() }
    }

    /// Imports memory of a host that it exported for a device (`ucp_memh_pack`). A device can send
    /// from it and receive into it; this process cannot access it. The bytes are part of the
    /// command of `cx`. UCX does not check them: see the guide's page on security.
    ///
    /// # Errors
    /// `INVALID_VALUE` for other bytes, `DRIVER` without an importing device or with UCX's error.
    pub fn import(cx: &Context, worker: &Worker, memh: &[u8]) -> Result<Region> {
        drop(cx.hold(memh)?);
        // Without a device, UCX would end the process on other bytes.
        ensure!(
            Imported::is_possible(),
            DocaError::DRIVER,
            "these bytes are not an exported memory map (`Mmap::export` of urom_host), and no RDMA \
             device here takes an exported handle of UCX"
        );
        // SAFETY: an admitted host is trusted with the memory of the workers that it uses.
        let memory = unsafe { Imported::open_all(worker.context(), memh) };
        let memory = memory.or_code(DocaError::DRIVER, "importing the host's memory")?;
        let (len, address) = (memory.len(), memory.address());
        Ok(Region { memory: RegionMemory::Imported(memory), start: 0, len, address })
    }

    /// Opens `len` bytes at `address` of the endpoint's process, by its packed remote key
    /// (`ucp_rkey_pack`). With an exported handle (`memh`, may be empty) a device here receives
    /// directly into them. Both are part of the command of `cx`: as for [`import`](Self::import).
    ///
    /// # Errors
    /// `INVALID_VALUE` for other bytes, `DRIVER` with UCX's error.
    pub fn remote(
        cx: &Context,
        endpoint: &Rc<Endpoint>,
        rkey: &[u8],
        memh: &[u8],
        address: u64,
        len: u64,
    ) -> Result<Region> {
        drop((cx.hold(rkey)?, cx.hold(memh)?));
        let context = endpoint.worker().context();
        // SAFETY: the key is from an admitted host, which is trusted with the worker's memory.
        let memory = unsafe { endpoint.remote_memory(rkey, address, len) };
        let memory = Rc::new(memory.or_code(DocaError::DRIVER, "unpacking a remote key")?);
        let is_possible = context.features().contains(Features::EXPORTED_MEMH) && !memh.is_empty();
        let imported = is_possible.then(|| {
            // SAFETY: the same host describes the same memory.
            unsafe { Imported::open(context, memh, address, len) }
        });
        let imported = match imported {
            // No device here reaches it; the remote key does.
            Some(Err(error)) if error.status() == Status::UNREACHABLE => None,
            Some(opened) => Some(opened.or_code(DocaError::DRIVER, "importing memory")?),
            None => None,
        };
        Ok(Region { memory: RegionMemory::Remote { memory, imported }, start: 0, len, address })
    }

    /// Sets the owner's address of the first byte.
    #[must_use]
    pub fn with_address(self, address: u64) -> Region {
        Region { address, ..self }
    }

    /// Returns the length in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns whether the length is 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the owner's address of the first byte; by default 0 for memory of this worker.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Returns a part, by offsets from the start.
    ///
    /// # Errors
    /// `INVALID_VALUE` when the range is out of bounds.
    pub fn part(&self, range: impl RangeBounds<u64>) -> Result<Region> {
        let range = bounds(range, self.len);
        if range.start > range.end || range.end > self.len {
            return Err(self.outside(self.address.wrapping_add(range.start), &range));
        }
        let (len, address) = (range.end - range.start, self.address.wrapping_add(range.start));
        let (memory, start) = match &self.memory {
            RegionMemory::Host(memory) => (RegionMemory::Host(memory.slice(range)), 0),
            other => (other.clone(), self.start + range.start),
        };
        Ok(Region { memory, start, len, address })
    }

    /// Returns the `len` bytes at the owner's address `address`.
    ///
    /// # Errors
    /// `INVALID_VALUE` when the range is out of bounds.
    pub fn at(&self, address: u64, len: u64) -> Result<Region> {
        let start = self.offset(address, len)?;
        self.part(start..start + len)
    }

    /// Returns the offset of the `len` bytes at the owner's address `address`.
    ///
    /// # Errors
    /// `INVALID_VALUE` when the range is out of bounds.
    #[inline]
    pub fn offset(&self, address: u64, len: u64) -> Result<u64> {
        let start = address.wrapping_sub(self.address);
        match start.checked_add(len) {
            Some(end) if end <= self.len => Ok(start),
            _ => Err(self.outside(address, &(0..len))),
        }
    }

    #[cold]
    fn outside(&self, address: u64, range: &Range<u64>) -> Error {
        let (start, all, len) = (self.address, self.len, range.end.saturating_sub(range.start));
        let text = format!("{len} bytes at {address:#x} are not in the {all} at {start:#x}");
        Error::new(DocaError::INVALID_VALUE, text)
    }

    /// Checks that the owner permits writes. For imported and remote memory UCX checks its keys.
    ///
    /// # Errors
    /// `NOT_PERMITTED`.
    pub fn check_write(&self) -> Result<()> {
        if let RegionMemory::Host(memory) = &self.memory {
            let is_writable = memory.access().others_write();
            ensure!(is_writable, DocaError::NOT_PERMITTED, "the host shares it for reading only");
        }
        Ok(())
    }

    /// Returns the bytes in this process if a host's memory is mapped here.
    #[inline]
    #[must_use]
    pub fn mapped(&self) -> Option<View<'_>> {
        match &self.memory {
            RegionMemory::Host(memory) => memory.mapped(),
            _ => None,
        }
    }

    fn imported(&self) -> Option<&Imported> {
        match &self.memory {
            RegionMemory::Imported(imported) => Some(imported),
            RegionMemory::Remote { imported, .. } => imported.as_ref(),
            _ => None,
        }
    }

    fn here(&self, offset: u64, len: u64) -> Result<Range<usize>> {
        let start = self.start + self.offset(self.address.wrapping_add(offset), len)?;
        Ok(start as usize..(start + len) as usize)
    }

    #[cold]
    fn no_bytes(&self) -> Error {
        let text = "only a device reaches this memory, so the plugin cannot read or write it";
        Error::new(DocaError::NOT_SUPPORTED, text)
    }

    /// Copies `to.len()` bytes from `offset` to memory of this process.
    ///
    /// # Errors
    /// `INVALID_VALUE` when the range is out of bounds, `NOT_SUPPORTED` for imported memory, the
    /// errors of [`HostMemory::read`], and `DRIVER` with UCX's error.
    pub async fn read(&self, offset: u64, to: &mut [u8]) -> Result<()> {
        match &self.memory {
            RegionMemory::Here(memory) => {
                memory.read(self.here(offset, to.len() as u64)?.start, to);
                Ok(())
            }
            RegionMemory::Host(memory) => memory.read(offset, to).await,
            RegionMemory::Imported(_) => Err(self.no_bytes()),
            RegionMemory::Remote { memory, .. } => {
                let start = self.here(offset, to.len() as u64)?.start as u64;
                let (came, read) = memory.get(start, to.to_vec()).await;
                came.or_code(DocaError::DRIVER, "reading remote memory")?;
                to.copy_from_slice(&read);
                Ok(())
            }
        }
    }

    /// Copies bytes to the memory at `offset`. Remote memory has received them when this ends.
    ///
    /// # Errors
    /// As [`read`](Self::read), and `NOT_PERMITTED` when the host permits no writes.
    pub async fn write(&self, offset: u64, from: &[u8]) -> Result<()> {
        match &self.memory {
            RegionMemory::Here(memory) => {
                memory.write(self.here(offset, from.len() as u64)?.start, from);
                Ok(())
            }
            RegionMemory::Host(memory) => memory.write(offset, from).await,
            RegionMemory::Imported(_) => Err(self.no_bytes()),
            RegionMemory::Remote { memory, .. } => {
                self.begin_put(memory, offset, from.to_vec())?;
                self.flush().await
            }
        }
    }

    /// As [`write`](Self::write), without waiting for remote memory: returns whether a
    /// [`flush`](Self::flush) must complete it. The flush then returns later errors.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub async fn put(&self, offset: u64, from: Vec<u8>) -> Result<bool> {
        let RegionMemory::Remote { memory, .. } = &self.memory else {
            return self.write(offset, &from).await.map(|()| false);
        };
        self.begin_put(memory, offset, from).map(|()| true)
    }

    fn begin_put(&self, memory: &RemoteMemory, offset: u64, from: Vec<u8>) -> Result<()> {
        let start = self.here(offset, from.len() as u64)?.start as u64;
        match memory.put(start, from).into_done() {
            Ok((written, _)) => written.or_code(DocaError::DRIVER, "writing remote memory"),
            Err(write) => {
                write.detach();
                Ok(())
            }
        }
    }

    /// Waits until every [`put`](Self::put) to the same process has arrived (`ucp_ep_flush_nbx`).
    ///
    /// # Errors
    /// `DRIVER` with UCX's error.
    pub async fn flush(&self) -> Result<()> {
        if let RegionMemory::Remote { memory, .. } = &self.memory {
            let (flushed, ()) = memory.endpoint().flush().await;
            flushed.or_code(DocaError::DRIVER, "waiting for writes to remote memory")?;
        }
        Ok(())
    }

    /// Copies all bytes to the start of another region, in blocks of 1 MiB.
    ///
    /// # Errors
    /// Those of [`read`](Self::read) and [`write`](Self::write).
    pub async fn copy_to(&self, to: &Region) -> Result<()> {
        let to = to.part(..self.len)?;
        let mut block = zeroed(self.len.min(BLOCK))?;
        for at in (0..self.len).step_by(BLOCK as usize) {
            let block = &mut block[..BLOCK.min(self.len - at) as usize];
            self.read(at, block).await?;
            to.write(at, block).await?;
        }
        Ok(())
    }
}

impl From<HostMemory> for Region {
    fn from(memory: HostMemory) -> Region {
        let (len, address) = (memory.len(), memory.address());
        Region { memory: RegionMemory::Host(memory), start: 0, len, address }
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.memory {
            RegionMemory::Here(_) => "of this worker",
            RegionMemory::Host(memory) => memory.path().name(),
            RegionMemory::Imported(_) => "imported",
            RegionMemory::Remote { .. } => "remote",
        };
        write!(f, "Region({} bytes at {:#x}, {kind})", self.len, self.address)
    }
}

fn zeroed(len: u64) -> Result<Vec<u8>> {
    let none = || Error::new(DocaError::NO_MEMORY, format!("no memory for {len} bytes"));
    let len = usize::try_from(len).map_err(|_| none())?;
    u8::new_vec_zeroed(len).map_err(|_| none())
}
