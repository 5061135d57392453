//! Registered memory: entries of a table, each of one connection, named by handles with a generation.

use std::cell::RefCell;
use std::rc::Rc;

use sandbox_protocol::MapParams;
use slotmap::{DefaultKey, Key, KeyData, SlotMap};
use ucx::{Endpoint, Memory, Status, TagInfo, Window, Worker};
use urom_pdk::prelude::*;

use crate::{count, driver};

#[derive(Default)]
pub(crate) struct Memories(RefCell<SlotMap<DefaultKey, Entry>>);

struct Entry {
    owner: u64,
    /// The host's name for the first byte.
    address: u64,
    length: u64,
    place: Place,
}

#[derive(Clone)]
enum Place {
    /// Memory of this process.
    Here(Memory),
    /// Memory of the host, reached through UCX.
    Host(Rc<Window>),
}

/// A part of registered memory.
pub(crate) struct Part {
    place: Place,
    start: u64,
    len: usize,
}

impl Memories {
    /// Registers memory for connection `owner` and gives its handle.
    pub(crate) fn map(
        &self,
        worker: &Worker,
        owner: u64,
        params: &MapParams,
        exported: &[u8],
    ) -> Result<u64> {
        let has = |field| params.field_mask & field != 0;
        let address = if has(MapParams::FIELD_ADDRESS) { params.address } else { 0 };
        let entry = if !exported.is_empty() {
            let window = Window::open(worker, exported).map_err(driver("opening the host's memory"))?;
            Entry { owner, address, length: window.len(), place: Place::Host(Rc::new(window)) }
        } else if has(MapParams::FIELD_FLAGS) && params.flags & MapParams::ALLOCATE != 0 {
            let (address, length) =
                (if has(MapParams::FIELD_ADDRESS) { params.address } else { 0 }, params.length);
            let memory =
                Memory::allocate(worker.context(), count(length)?).map_err(driver("allocating memory"))?;
            Entry { owner, address, length, place: Place::Here(memory) }
        } else {
            return Err(Error::new(
                DocaError::INVALID_VALUE,
                "an address of the host means nothing here: send an exported handle, or ask for ALLOCATE",
            ));
        };
        Ok(self.0.borrow_mut().insert(entry).data().as_ffi())
    }

    /// `len` bytes at `address` of the memory that `handle` names.
    pub(crate) fn part(&self, owner: u64, handle: u64, address: u64, len: u64) -> Result<Part> {
        let entries = self.0.borrow();
        let entry = entries.get(KeyData::from_ffi(handle).into()).filter(|entry| entry.owner == owner);
        let entry =
            entry.ok_or(Error::new(DocaError::INVALID_VALUE, "no memory of this host has that memh_id"))?;
        let start = address.checked_sub(entry.address).filter(|start| *start <= entry.length);
        let start = start.filter(|start| len <= entry.length - start);
        let start =
            start.ok_or(Error::new(DocaError::INVALID_VALUE, "the bytes stick out of their memory"))?;
        Ok(Part { place: entry.place.clone(), start, len: count(len)? })
    }
}

impl Part {
    /// Sends these bytes.
    pub(crate) async fn send(self, peer: &Endpoint, tag: u64) -> Result<(), Status> {
        match self.place {
            Place::Here(memory) => {
                let start = self.start as usize;
                let lease = memory.lease(start..start + self.len).ok_or(Status::BUSY)?;
                peer.tag_send(tag, lease).await.0
            }
            Place::Host(window) => {
                let (read, bytes) = window.get(self.start, vec![0; self.len]).await;
                read?;
                peer.tag_send(tag, bytes).await.0
            }
        }
    }

    /// Receives into these bytes.
    pub(crate) async fn recv(self, worker: &Worker, tag: u64, mask: u64) -> Result<TagInfo, Status> {
        match self.place {
            Place::Here(memory) => {
                let start = self.start as usize;
                let lease = memory.lease(start..start + self.len).ok_or(Status::BUSY)?;
                worker.tag_recv(tag, mask, lease).await.0
            }
            Place::Host(window) => {
                let (received, mut bytes) = worker.tag_recv(tag, mask, vec![0; self.len]).await;
                bytes.truncate(crate::received(&received, self.len));
                window.put(self.start, bytes).await.0?;
                // The host may read the bytes once it has the answer.
                window.flush().await.0?;
                received
            }
        }
    }
}
