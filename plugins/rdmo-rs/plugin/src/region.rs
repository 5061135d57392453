//! Memory of a client: its place, and the pointers in it that are ahead of what the client sees.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use rdmo_protocol::MrReg;
use ucx::{Endpoint, Imported, RemoteMemory, Rendezvous, Request, Status};
use urom_pdk::prelude::*;

/// A registered region.
pub(crate) struct Region {
    start: u64,
    len: u64,
    place: Place,
    /// The values of pointers that appends have advanced, by the pointers' addresses.
    pointers: RefCell<BTreeMap<u64, u64>>,
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
        let (start, len) = (cmd.va, cmd.len);
        if start.checked_add(len).is_none() {
            let text = format!("{len} bytes at {start:#x} go beyond the last address");
            return Err(Error::new(DocaError::INVALID_VALUE, text));
        }
        // SAFETY: the host's word for its own memory. It is trusted with the worker's memory: the
        // guide's page on security says so.
        let memory = unsafe { host.remote_memory(cmd.packed_rkey, start, len) };
        let memory = memory.or_code(DocaError::DRIVER, "unpacking a remote key")?;
        // SAFETY: as above.
        let import =
            |exported| unsafe { Imported::open(host.worker().context(), exported, start, len) };
        let imported = match Some(cmd.packed_memh).filter(|memh| !memh.is_empty()).map(import) {
            None => None,
            Some(Ok(imported)) => Some(imported),
            // No device here reaches it, so it goes by the remote key.
            Some(Err(error))
                if matches!(error.status(), Status::UNREACHABLE | Status::UNSUPPORTED) =>
            {
                log::debug!("an exported memory handle is not used: {error}");
                None
            }
            Some(Err(error)) => Err(error).or_code(DocaError::DRIVER, "importing memory")?,
        };
        let pointers = RefCell::default();
        Ok(Region { start, len, place: Place::Remote { memory, imported }, pointers })
    }

    /// How many bytes.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Where `len` bytes at `address` are in the region.
    pub(crate) fn offset(&self, address: u64, len: usize) -> Result<u64> {
        let offset = address.checked_sub(self.start);
        let end = offset.and_then(|offset| offset.checked_add(len as u64));
        offset.filter(|_| end.is_some_and(|end| end <= self.len)).ok_or_else(|| {
            let text = format!(
                "{len} bytes at {address:#x} are not inside the {} bytes at {:#x}",
                self.len, self.start
            );
            Error::new(DocaError::INVALID_VALUE, text)
        })
    }

    /// The value of the pointer at `address`: the client's, unless it was advanced since.
    pub(crate) async fn pointer(&self, address: u64) -> Result<u64> {
        let offset = self.offset(address, 8)?;
        if let Some(value) = self.pointers.borrow().get(&address) {
            return Ok(*value);
        }
        let Place::Remote { memory, .. } = &self.place;
        let (came, value) = memory.get(offset, vec![0; 8]).await;
        came.or_code(DocaError::DRIVER, "reading a pointer")?;
        Ok(value.first_chunk().map_or(0, |word| u64::from_le_bytes(*word)))
    }

    /// Notes that the pointer at `address` has advanced to `value`.
    pub(crate) fn advance(&self, address: u64, value: u64) {
        self.pointers.borrow_mut().insert(address, value);
    }

    /// Whether pointers have advanced.
    pub(crate) fn is_ahead(&self) -> bool {
        !self.pointers.borrow().is_empty()
    }

    /// Begins to write bytes.
    pub(crate) fn put(&self, offset: u64, bytes: Vec<u8>) -> Request<Vec<u8>> {
        let Place::Remote { memory, .. } = &self.place;
        memory.put(offset, bytes)
    }

    /// Whether announced data can be received straight into the region.
    pub(crate) fn takes_announced(&self) -> bool {
        let Place::Remote { imported, .. } = &self.place;
        imported.is_some()
    }

    /// Receives announced data to `offset`, past this process's memory.
    pub(crate) async fn receive(&self, offset: u64, announced: Rendezvous) -> Result<()> {
        let Place::Remote { imported: Some(imported), .. } = &self.place else {
            return Err(Error::new(DocaError::INVALID_VALUE, "the region is not imported"));
        };
        let (came, ()) = announced.recv_imported(imported, offset).await;
        came.map(drop).or_code(DocaError::DRIVER, "receiving into imported memory")
    }

    /// Writes the pointers that have advanced to the client's memory, and reads one back. They have
    /// arrived after the endpoint's next flush.
    pub(crate) async fn write_pointers(&self) -> Result<()> {
        let pointers: Vec<_> = self.pointers.borrow().iter().map(|(a, v)| (*a, *v)).collect();
        let Some(&(last, _)) = pointers.last() else { return Ok(()) };
        let mut writes = Vec::with_capacity(pointers.len());
        for (address, value) in pointers {
            writes.push(self.put(self.offset(address, 8)?, value.to_le_bytes().to_vec()));
        }
        for write in writes {
            write.await.0.or_code(DocaError::DRIVER, "writing a pointer")?;
        }
        let Place::Remote { memory, .. } = &self.place;
        let (came, _) = memory.get(self.offset(last, 8)?, vec![0; 8]).await;
        came.or_code(DocaError::DRIVER, "reading a pointer back")
    }

    /// Forgets the pointers, which have arrived.
    pub(crate) fn forget_pointers(&self) {
        self.pointers.borrow_mut().clear();
    }
}
