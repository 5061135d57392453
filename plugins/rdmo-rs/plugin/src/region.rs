//! Memory of a client: its place, and the pointers in it that are ahead of what the client sees.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use rdmo_protocol::MrReg;
use ucx::{Endpoint, Features, Imported, RemoteMemory, Request, Status};
use urom_pdk::prelude::*;

/// A registered region.
pub(crate) struct Region {
    start: u64,
    pub(crate) len: u64,
    place: Place,
    /// The values of pointers that appends have advanced, by the pointers' addresses.
    pub(crate) pointers: RefCell<BTreeMap<u64, u64>>,
}

/// Where a region is, and so how it is reached.
enum Place {
    /// At the other end of the host's endpoint.
    Remote {
        memory: RemoteMemory,
        /// What a device here writes to directly, if the host exported the memory.
        imported: Option<Imported>,
    },
}

impl Region {
    /// The region that a command describes.
    pub(crate) fn open(host: &Rc<Endpoint>, cmd: &MrReg<'_>) -> Result<Region> {
        let (start, len, context) = (cmd.va, cmd.len, host.worker().context());
        if start.checked_add(len).is_none() {
            let text = format!("{len} bytes at {start:#x} go beyond the last address");
            return Err(Error::new(DocaError::INVALID_VALUE, text));
        }
        // SAFETY: the host's word for its own memory. It is trusted with the worker's memory: the
        // guide's page on security says so.
        let memory = unsafe { host.remote_memory(cmd.packed_rkey, start, len) };
        let memory = memory.or_code(DocaError::DRIVER, "unpacking a remote key")?;
        let imports = context.features().contains(Features::EXPORTED_MEMH);
        let imported = match cmd.packed_memh {
            exported if imports && !exported.is_empty() => {
                // SAFETY: as above.
                match unsafe { Imported::open(context, exported, start, len) } {
                    // No device here reaches it, so it goes by the remote key.
                    Err(error) if error.status() == Status::UNREACHABLE => None,
                    opened => Some(opened.or_code(DocaError::DRIVER, "importing memory")?),
                }
            }
            _ => None,
        };
        let place = Place::Remote { memory, imported };
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

    /// The value of the pointer at `address`: the client's, unless it was advanced since.
    pub(crate) async fn pointer(&self, address: u64) -> Result<u64> {
        let known = self.pointers.borrow().get(&address).copied();
        match known {
            Some(value) => Ok(value),
            None => self.read(address).await,
        }
    }

    /// Writes the pointers that have advanced to the client's memory, and reads one back. They have
    /// arrived after the endpoint's next flush. Whether there were any.
    pub(crate) async fn write_pointers(&self) -> Result<bool> {
        let pointers = self.pointers.borrow().clone();
        let Some((&last, _)) = pointers.last_key_value() else { return Ok(false) };
        let write = |(address, value): (&u64, &u64)| {
            Ok(self.put(self.offset(*address, 8)?, value.to_le_bytes().to_vec()))
        };
        for write in pointers.iter().map(write).collect::<Result<Vec<_>>>()? {
            write.await.0.or_code(DocaError::DRIVER, "writing a pointer")?;
        }
        self.read(last).await.map(|_| true)
    }

    /// Begins to write bytes.
    pub(crate) fn put(&self, offset: u64, bytes: Vec<u8>) -> Request<Vec<u8>> {
        let Place::Remote { memory, .. } = &self.place;
        memory.put(offset, bytes)
    }

    /// Where a device can receive straight into the region.
    pub(crate) fn imported(&self) -> Option<&Imported> {
        let Place::Remote { imported, .. } = &self.place;
        imported.as_ref()
    }

    /// Reads the word at `address`.
    async fn read(&self, address: u64) -> Result<u64> {
        let Place::Remote { memory, .. } = &self.place;
        let (came, word) = memory.get(self.offset(address, 8)?, vec![0; 8]).await;
        came.or_code(DocaError::DRIVER, "reading a pointer")?;
        Ok(word.first_chunk().map_or(0, |word| u64::from_le_bytes(*word)))
    }
}
