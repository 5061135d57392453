//! Memory of a client: its place, and the pointers in it that are ahead of what the client sees.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use rdmo_protocol::MrReg;
use ucx::{Endpoint, Features, Imported, RemoteMemory, Rendezvous, Status};
use urom_pdk::memory::{Exported, HostMemory, MemoryRange, View};
use urom_pdk::prelude::*;

pub(crate) struct Region {
    start: u64,
    len: u64,
    place: RegionPlace,
    /// The values of pointers that appends have advanced, by the pointers' addresses.
    pub(crate) pointers: RefCell<BTreeMap<u64, u64>>,
}

/// Where a region is, and so how it is reached.
enum RegionPlace {
    Shared(HostMemory),
    /// At the other end of the host's endpoint.
    Remote {
        memory: RemoteMemory,
        /// What a device here writes to directly, if the host exported the memory.
        imported: Option<Imported>,
    },
}

/// A message's data.
pub(crate) enum Bytes {
    Here(Vec<u8>),
    /// Still at the initiator.
    Announced(Rendezvous),
}

impl Bytes {
    pub(crate) fn len(&self) -> usize {
        match self {
            Bytes::Here(bytes) => bytes.len(),
            Bytes::Announced(announced) => announced.len(),
        }
    }
}

impl Region {
    /// The region that a command describes.
    pub(crate) fn open(cx: &Context, host: &Rc<Endpoint>, cmd: &MrReg<'_>) -> Result<Region> {
        let (start, len) = (cmd.va, cmd.len);
        if start.checked_add(len).is_none() {
            let text = format!("{len} bytes at {start:#x} go beyond the last address");
            return Err(Error::new(DocaError::INVALID_VALUE, text));
        }
        let place = match Exported::read(cmd.packed_memh) {
            Ok(map) => {
                // Before the map's first byte this wraps, and no map is as long.
                let offset = start.wrapping_sub(map.address());
                RegionPlace::Shared(cx.memory(MemoryRange { memory: map.id(), offset, len })?)
            }
            // Other handles go with a key.
            Err(error) if cmd.packed_rkey.is_empty() && !cmd.packed_memh.is_empty() => {
                return Err(error.into());
            }
            Err(_) => RegionPlace::remote(host, cmd)?,
        };
        Ok(Region { start, len, place, pointers: RefCell::default() })
    }

    /// Where `len` bytes at `address` are in the region.
    pub(crate) fn offset(&self, address: u64, len: usize) -> Result<u64> {
        let offset = address.checked_sub(self.start);
        let end = offset.and_then(|offset| offset.checked_add(len as u64));
        let inside = offset.filter(|_| end.is_some_and(|end| end <= self.len));
        inside.ok_or_else(|| {
            let (start, all) = (self.start, self.len);
            let text = format!("{len} bytes at {address:#x} are not in the {all} at {start:#x}");
            Error::new(DocaError::INVALID_VALUE, text)
        })
    }

    /// Whether `len` bytes may be written at `address`. UCX has no permissions that forbid it.
    pub(crate) fn check_write(&self, address: u64, len: usize) -> Result<()> {
        match &self.place {
            RegionPlace::Shared(memory) if !memory.access().others_write() => {
                Err(Error::new(DocaError::NOT_PERMITTED, "the client shares it for reading only"))
            }
            _ => self.offset(address, len).map(drop),
        }
    }

    /// The region, where it is mapped into this process.
    pub(crate) fn mapped(&self) -> Option<View<'_>> {
        let RegionPlace::Shared(memory) = &self.place else { return None };
        memory.mapped()
    }

    /// The pointer at `address` in the client's memory, where that is mapped into this process.
    pub(crate) fn in_place(&self, address: u64) -> Result<Option<&AtomicU64>> {
        let Some(view) = self.mapped() else { return Ok(None) };
        Ok(Some(view.atomic_u64(self.offset(address, 8)?)?))
    }

    /// The value of the pointer at `address`: the client's, unless it was advanced since.
    pub(crate) async fn pointer(&self, address: u64) -> Result<u64> {
        if let Some(word) = self.in_place(address)? {
            return Ok(word.load(Ordering::Acquire));
        }
        let known = self.pointers.borrow().get(&address).copied();
        match known {
            Some(value) => Ok(value),
            None => self.read(address).await,
        }
    }

    /// Advances the pointer at `address`; the client sees it at once where it is mapped.
    pub(crate) fn advance(&self, address: u64, value: u64) -> Result<()> {
        match self.in_place(address)? {
            Some(word) => word.store(value, Ordering::Release),
            None => _ = self.pointers.borrow_mut().insert(address, value),
        }
        Ok(())
    }

    pub(crate) async fn read(&self, address: u64) -> Result<u64> {
        let (offset, mut word) = (self.offset(address, 8)?, [0; 8]);
        match &self.place {
            RegionPlace::Shared(memory) => memory.read(offset, &mut word).await?,
            RegionPlace::Remote { memory, .. } => {
                let (came, read) = memory.get(offset, word.to_vec()).await;
                came.or_code(DocaError::DRIVER, "reading a pointer")?;
                word.copy_from_slice(&read);
            }
        }
        Ok(u64::from_le_bytes(word))
    }

    /// Receives announced data, unless a device can write them straight into the region.
    pub(crate) async fn fetch(&self, data: Bytes) -> Result<Bytes> {
        let is_imported = matches!(self.place, RegionPlace::Remote { imported: Some(_), .. });
        let announced = match data {
            Bytes::Announced(announced) if !is_imported => announced,
            data => return Ok(data),
        };
        let (mut room, len) = (Vec::new(), announced.len());
        if len as u64 > self.len || room.try_reserve_exact(len).is_err() {
            return Err(Error::new(DocaError::TOO_BIG, format!("no room for {len} bytes")));
        }
        room.resize(len, 0);
        let (came, bytes) = announced.recv(room).await;
        came.or_code(DocaError::DRIVER, "receiving from an initiator")?;
        Ok(Bytes::Here(bytes))
    }

    /// Writes data that were fetched, and says whether it takes a flush of the host's endpoint
    /// until they arrive.
    pub(crate) async fn write(&self, address: u64, data: Bytes) -> Result<bool> {
        let offset = self.offset(address, data.len())?;
        match (&self.place, data) {
            (RegionPlace::Shared(memory), Bytes::Here(bytes)) => {
                memory.write(offset, &bytes).await?
            }
            (RegionPlace::Remote { memory, .. }, Bytes::Here(bytes)) => {
                match memory.put(offset, bytes).into_done() {
                    Ok((written, _)) => written.or_code(DocaError::DRIVER, "writing")?,
                    // It fails with the endpoint if at all, and so does the flush.
                    Err(write) => write.detach(),
                }
                return Ok(true);
            }
            (RegionPlace::Remote { imported: Some(imported), .. }, Bytes::Announced(announced)) => {
                let (came, ()) = announced.recv_imported(imported, offset).await;
                came.or_code(DocaError::DRIVER, "receiving into imported memory")?;
            }
            (_, Bytes::Announced(_)) => unreachable!("it was fetched"),
        }
        Ok(false)
    }
}

impl RegionPlace {
    fn remote(host: &Rc<Endpoint>, cmd: &MrReg<'_>) -> Result<RegionPlace> {
        let (start, len, context) = (cmd.va, cmd.len, host.worker().context());
        // SAFETY: the host's word for its own memory. It is trusted with the worker's memory: the
        // guide's page on security says so.
        let memory = unsafe { host.remote_memory(cmd.packed_rkey, start, len) };
        let memory = memory.or_code(DocaError::DRIVER, "unpacking a remote key")?;
        let imports = context.features().contains(Features::EXPORTED_MEMH);
        if !imports || cmd.packed_memh.is_empty() {
            return Ok(RegionPlace::Remote { memory, imported: None });
        }
        // SAFETY: the host describes its own memory. It is trusted with the worker's memory, as the
        // guide's page on security says.
        let imported = match unsafe { Imported::open(context, cmd.packed_memh, start, len) } {
            // No device here reaches it, so it goes by the remote key.
            Err(error) if error.status() == Status::UNREACHABLE => None,
            opened => Some(opened.or_code(DocaError::DRIVER, "importing memory")?),
        };
        Ok(RegionPlace::Remote { memory, imported })
    }
}
