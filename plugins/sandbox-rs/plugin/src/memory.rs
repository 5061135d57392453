//! Registered memory: entries of a table, each of one connection, named by handles with a
//! generation.

use std::cell::{OnceCell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use sandbox_protocol::{MapParams, TagReceived};
use slotmap::{DefaultKey, Key, KeyData, SlotMap};
use ucx::{
    Endpoint, Features, Memory, RangeLease, Ranges, RemoteMemory, Stable, Status, TagInfo, Worker,
};
use urom_pdk::{Payload, prelude::*};

/// What all registrations together may cost. One costs its bytes in this process, and [`LEAST`] at
/// least, so there are at most 1024.
const MOST_REGISTERED: u64 = 1 << 30;
const LEAST: u64 = 1 << 20;

/// How a receive ended.
type Came = Result<TagInfo, Status>;

#[derive(Default)]
pub(crate) struct Memories {
    entries: RefCell<SlotMap<DefaultKey, Entry>>,
    /// A worker for windows, once there is one. A host's UCX has no mesh, so it takes `tcp` to
    /// notice that one is gone.
    pub(crate) windows: OnceCell<Worker>,
}

struct Entry {
    owner: u64,
    /// The host's name for the first byte.
    address: u64,
    len: u64,
    cost: u64,
    place: Place,
}

/// Where registered memory is.
#[derive(Clone)]
pub(crate) enum Place {
    /// In this process.
    Here(Memory),
    /// In the host's, to be reached through UCX.
    Host(Rc<Theirs>),
}

/// Memory of a host.
pub(crate) struct Theirs {
    window: RemoteMemory,
    /// The host's word for it, the same whenever it maps the same memory.
    described: Box<[u8]>,
    /// What commands have of it, under whichever of its handles.
    taken: Ranges,
}

impl Memories {
    /// Registers memory for connection `owner` and gives its handle: the host's, if it sent an
    /// exported `memh`.
    pub(crate) fn map(
        &self,
        ucx: &Worker,
        owner: u64,
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
            true => Memory::allocate(ucx.context(), len as usize).map(Place::Here),
            // An address alone is one of the host's, which means nothing here.
            false if memh.is_empty() => {
                return Err(Error::new(DocaError::INVALID_VALUE, "nothing to map"));
            }
            false => {
                // SAFETY: the bytes are a host's word, which UCX takes as it is. A host that was
                // let in is trusted with the memory of the workers that it uses: the guide's page
                // on security says so, and who is let in.
                let open = |ucx| unsafe { RemoteMemory::open(ucx, memh) };
                self.windows().and_then(open).map(|window| {
                    let mut known = entries.values().filter(|entry| entry.owner == owner);
                    let taken =
                        known.find_map(|entry| entry.place.taken_of(memh)).unwrap_or_default();
                    Place::Host(Rc::new(Theirs { window, described: memh.into(), taken }))
                })
            }
        };
        let place = place.or_code(DocaError::DRIVER, "registering memory, new or the host's")?;
        let len = if let Place::Host(theirs) = &place { theirs.window.len() } else { len };
        let address = if has(MapParams::FIELD_ADDRESS) { params.address } else { 0 };
        Ok(entries.insert(Entry { owner, address, len, cost, place }).data().as_ffi())
    }

    /// Ends the registrations of a connection.
    pub(crate) fn forget(&self, owner: u64) {
        self.entries.borrow_mut().retain(|_, entry| entry.owner != owner);
    }

    fn windows(&self) -> ucx::Result<&Worker> {
        let make = || ucx::Context::new(Features::RMA)?.worker();
        let windows = self.windows.get().cloned().map_or_else(make, Ok)?;
        Ok(self.windows.get_or_init(|| windows))
    }

    /// Where the `len` bytes at the host's address `at` are, of the memory that `handle` names.
    pub(crate) fn find(
        &self,
        owner: u64,
        handle: u64,
        at: u64,
        len: u64,
    ) -> Result<(Place, Range<usize>)> {
        let (entries, key) = (self.entries.borrow(), KeyData::from_ffi(handle));
        // Two numbers make one key, and only one of them was given out.
        let entry =
            entries.get(key.into()).filter(|entry| entry.owner == owner && key.as_ffi() == handle);
        let found = entry.and_then(|entry| {
            let start = at.checked_sub(entry.address)?;
            let end = start.checked_add(len).filter(|end| *end <= entry.len)?;
            Some((entry.place.clone(), start as usize..end as usize))
        });
        found.ok_or_else(|| {
            Error::new(DocaError::INVALID_VALUE, "no such bytes in memory of this host")
        })
    }
}

impl Place {
    /// What commands have of the host's memory that these bytes describe, if it is here.
    fn taken_of(&self, memh: &[u8]) -> Option<Ranges> {
        match self {
            Place::Host(theirs) if *theirs.described == *memh => Some(theirs.taken.clone()),
            _ => None,
        }
    }

    /// Sends the bytes at `range`.
    pub(crate) async fn send(
        self,
        range: Range<usize>,
        peer: &Endpoint,
        tag: u64,
    ) -> Result<(), Status> {
        match self {
            Place::Here(memory) => {
                peer.tag_send(tag, memory.share(range).ok_or(Status::BUSY)?).await.0
            }
            Place::Host(theirs) => {
                let part = theirs.taken.share(range).ok_or(Status::BUSY)?;
                let bytes = Stable::new(room(&part)?);
                match theirs.window.get(part.range().start as u64, bytes).await {
                    (Ok(()), bytes) => peer.tag_send(tag, bytes).await.0,
                    (failed, _) => failed,
                }
            }
        }
    }

    /// Receives into the bytes at `range`, unless the command is cancelled before a message is
    /// there.
    pub(crate) async fn receive(
        self,
        range: Range<usize>,
        ucx: &Worker,
        tag: u64,
        mask: u64,
        cx: &Context,
    ) -> Result<Came> {
        match self {
            Place::Here(memory) => {
                let Some(lease) = memory.lease(range) else { return Ok(Err(Status::BUSY)) };
                Ok(cx.unless_cancelled(ucx.tag_recv(tag, mask, lease)).await?.0)
            }
            Place::Host(theirs) => {
                let Some(part) = theirs.taken.lease(range) else { return Ok(Err(Status::BUSY)) };
                let room = match room(&part) {
                    Ok(room) => Stable::new(room),
                    Err(status) => return Ok(Err(status)),
                };
                let (came, bytes) = cut(cx.unless_cancelled(ucx.tag_recv(tag, mask, room)).await?);
                // From here on the command is not cancelled: its bytes are being written.
                Ok(theirs.write(part, bytes).await.and(came))
            }
        }
    }
}

impl Theirs {
    async fn write(&self, part: RangeLease, bytes: Payload) -> Result<(), Status> {
        self.window.put(part.range().start as u64, Stable::new(bytes)).await.0?;
        // The host looks when it has the answer.
        self.window.endpoint().flush().await.0
    }
}

/// What was received, cut to what came: nothing of a message that was too long, because UCX drops
/// those.
pub(crate) fn cut((came, room): (Came, Stable<Payload>)) -> (Came, Payload) {
    let mut room = room.into_inner();
    room.truncate(came.map_or(0, |info| info.length));
    (came, room)
}

/// Memory of the C heap, which takes pages only as they are written.
fn room(part: &RangeLease) -> Result<Payload, Status> {
    TagReceived::payload(part.range().len()).map_err(|_| Status::NO_MEMORY)
}
