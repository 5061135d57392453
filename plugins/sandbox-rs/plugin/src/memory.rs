//! Registered memory: entries of a table, each of one connection, named by handles with a
//! generation.

use std::cell::RefCell;
use std::ops::Range;

use sandbox_protocol::MapParams;
use slotmap::{DefaultKey, Key, KeyData, SlotMap};
use ucx::{Endpoint, Imported, Memory, Status, TagInfo, Worker};
use urom_pdk::memory::{Exported, HostMemory};
use urom_pdk::prelude::*;

/// What all registrations together may cost. One costs its bytes in this process, and [`LEAST`] at
/// least, so there are at most 1024.
const MOST_REGISTERED: u64 = 1 << 30;
const LEAST: u64 = 1 << 20;

#[derive(Default)]
pub(crate) struct Memories {
    entries: RefCell<SlotMap<DefaultKey, BufferEntry>>,
}

struct BufferEntry {
    owner: u64,
    /// The host's name for the first byte.
    address: u64,
    cost: u64,
    place: BufferPlace,
}

/// Where registered memory is.
enum BufferPlace {
    /// In this process.
    Here(Memory),
    /// In the host, which shares it with this worker.
    Host(HostMemory),
    /// In the host, for an RDMA device.
    Imported(Imported),
}

/// A part of registered memory.
pub(crate) enum Part {
    Here(Memory, Range<usize>),
    Host(HostMemory),
    Imported(Imported, Range<u64>),
}

impl Memories {
    /// Registers memory for the host of a command and gives its handle: the host's memory, if it
    /// sent an exported `memh`.
    pub(crate) fn map(
        &self,
        ucx: &Worker,
        cx: &Context,
        params: &MapParams,
        memh: &[u8],
    ) -> Result<u64> {
        let has = |field| params.field_mask & field != 0;
        let here = memh.is_empty()
            && has(MapParams::FIELD_FLAGS)
            && params.flags & MapParams::ALLOCATE != 0;
        let len = if here && has(MapParams::FIELD_LENGTH) { params.length } else { 0 };
        let (mut entries, cost) = (self.entries.borrow_mut(), len.max(LEAST));
        if entries.values().map(|entry| entry.cost).sum::<u64>().saturating_add(cost)
            > MOST_REGISTERED
        {
            return Err(Error::new(
                DocaError::NO_MEMORY,
                "this worker has as much registered as it may",
            ));
        }
        let place = match here {
            true => BufferPlace::Here(
                Memory::allocate(ucx.context(), len as usize)
                    .or_code(DocaError::DRIVER, "registering new memory")?,
            ),
            // An address alone is one of the host's, which means nothing here.
            false if memh.is_empty() => {
                return Err(Error::new(DocaError::INVALID_VALUE, "nothing to map"));
            }
            false if Exported::is_meant_by(memh) => {
                let exported = Exported::read(memh)?;
                BufferPlace::Host(cx.memory(exported.range())?)
            }
            false => BufferPlace::Imported(import(ucx, memh)?),
        };
        let address = if has(MapParams::FIELD_ADDRESS) { params.address } else { place.address() };
        Ok(entries
            .insert(BufferEntry { owner: cx.dest_id(), address, cost, place })
            .data()
            .as_ffi())
    }

    /// Ends the registrations of a connection.
    pub(crate) fn forget(&self, owner: u64) {
        self.entries.borrow_mut().retain(|_, entry| entry.owner != owner);
    }

    /// The `len` bytes at the host's address `at`, of the memory that `handle` names.
    pub(crate) fn find(&self, owner: u64, handle: u64, at: u64, len: u64) -> Result<Part> {
        let (entries, key) = (self.entries.borrow(), KeyData::from_ffi(handle));
        // Two numbers make one key, and only one of them was given out.
        let entry =
            entries.get(key.into()).filter(|entry| entry.owner == owner && key.as_ffi() == handle);
        let found = entry.and_then(|entry| {
            let start = at.checked_sub(entry.address)?;
            entry.place.part(start..start.checked_add(len)?)
        });
        found.ok_or_else(|| {
            Error::new(DocaError::INVALID_VALUE, "no such bytes in memory of this host")
        })
    }
}

/// Has UCX import memory of the host.
fn import(ucx: &Worker, memh: &[u8]) -> Result<Imported> {
    // UCX without a device takes other bytes than a handle at their word.
    if !Imported::is_possible() {
        let text = "these bytes are no exported memory map (`Mmap::export` of urom_host), and no \
                    RDMA device here takes an exported handle of UCX";
        return Err(Error::new(DocaError::DRIVER, text));
    }
    // SAFETY: the bytes are a host's word, which UCX takes as it is. A host that was let in is
    // trusted with the memory of the workers that it uses: the guide's page on security says so.
    let imported = unsafe { Imported::open_all(ucx.context(), memh) };
    imported.or_code(DocaError::DRIVER, "importing the host's memory")
}

impl BufferPlace {
    /// Where the memory begins in the host; 0 for that of this process, whose place is nobody's
    /// business.
    fn address(&self) -> u64 {
        match self {
            BufferPlace::Here(_) => 0,
            BufferPlace::Host(memory) => memory.address(),
            BufferPlace::Imported(memory) => memory.address(),
        }
    }

    /// A part, unless it is not all inside.
    fn part(&self, range: Range<u64>) -> Option<Part> {
        match self {
            BufferPlace::Here(memory) if range.end <= memory.len() as u64 => {
                Some(Part::Here(memory.clone(), range.start as usize..range.end as usize))
            }
            BufferPlace::Host(memory) => memory.get(range).map(Part::Host),
            BufferPlace::Imported(memory) if range.end <= memory.len() => {
                Some(Part::Imported(memory.clone(), range))
            }
            BufferPlace::Here(_) | BufferPlace::Imported(_) => None,
        }
    }
}

impl Part {
    /// Sends the bytes.
    pub(crate) async fn send(self, peer: &Endpoint, tag: u64) -> Result<(), Status> {
        match self {
            Part::Here(memory, range) => {
                peer.tag_send(tag, memory.share(range).ok_or(Status::BUSY)?).await.0
            }
            Part::Host(memory) => memory.tag_send(peer, tag).await,
            Part::Imported(memory, range) => peer.tag_send_imported(tag, &memory, range).await.0,
        }
    }

    /// Receives into the bytes. Dropping the future before a message is there cancels the receive.
    pub(crate) async fn receive(
        self,
        ucx: &Worker,
        tag: u64,
        mask: u64,
    ) -> Result<TagInfo, Status> {
        match self {
            Part::Here(memory, range) => {
                ucx.tag_recv(tag, mask, memory.lease(range).ok_or(Status::BUSY)?).await.0
            }
            Part::Host(memory) => memory.tag_recv(ucx, tag, mask).await,
            Part::Imported(memory, range) => {
                ucx.tag_recv_imported(tag, mask, &memory, range).await.0
            }
        }
    }
}
