//! The sandbox plugin: sends and receives tagged messages between the workers of a domain.

mod memory;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use sandbox_protocol::{Handler, MemMap, MemMapped, TagReceived, TagRecv, TagSend, TagSent};
use ucx::{Endpoint, Features, Stable, Status, TagInfo, WorkerAddress};
use urom_pdk::prelude::*;
use urom_pdk::{Data, Received};

use memory::Memories;

struct Sandbox {
    worker: ucx::Worker,
    memories: Memories,
    /// Endpoints by the address they lead to: a member's id may mean another worker in the next domain.
    peers: RefCell<HashMap<WorkerAddress, Rc<Endpoint>>>,
}

impl Sandbox {
    fn peer(&self, cx: &Context, dest: u64) -> Result<Rc<Endpoint>> {
        let address = cx.domains().address(dest)?;
        let address = WorkerAddress::from_bytes(address).map_err(driver("reading a member's address"))?;
        let mut peers = self.peers.borrow_mut();
        if let Some(peer) = peers.get(&address).filter(|peer| !peer.is_failed()) {
            return Ok(Rc::clone(peer));
        }
        let peer = Rc::new(self.worker.connect(&address).map_err(driver("connecting to a member"))?);
        peers.insert(address, Rc::clone(&peer));
        Ok(peer)
    }
}

#[urom_plugin]
impl Handler for Sandbox {
    fn open(_: &OpenContext) -> Result<Self> {
        let features = Features::TAG | Features::RMA | Features::AMO64 | Features::WAKEUP;
        let context = ucx::Context::new(features).map_err(driver("opening UCX"))?;
        let worker = context.worker().map_err(driver("opening UCX"))?;
        Ok(Sandbox { worker, memories: Memories::default(), peers: RefCell::default() })
    }

    fn address(&self) -> Result<Vec<u8>> {
        let address = self.worker.address().map_err(driver("asking UCX for the worker's address"))?;
        Ok(address.as_bytes().to_vec())
    }

    fn progress(&self) -> bool {
        self.worker.progress()
    }

    async fn mem_map(&self, cx: &Context, cmd: MemMap<'_>) -> Result<MemMapped> {
        let memh_id = self.memories.map(&self.worker, cx.dest_id(), &cmd.map_params, cmd.exported_memh)?;
        Ok(MemMapped { memh_id })
    }

    async fn tag_send(&self, cx: &Context, cmd: TagSend<'_>) -> Result<TagSent> {
        let peer = self.peer(cx, cmd.dest)?;
        let sent = match cmd.data {
            Data::Inline(bytes) => peer.tag_send(cmd.tag, Stable::new(cx.hold(bytes)?)).await.0,
            Data::Registered(part) => {
                let part = self.memories.part(cx.dest_id(), part.memory.get(), part.address, part.len)?;
                part.send(&peer, cmd.tag).await
            }
        };
        Ok(TagSent { status: status(sent).code() })
    }

    async fn tag_recv(&self, cx: &Context, cmd: TagRecv) -> Result<TagReceived> {
        let (result, data) = match cmd.memh_id {
            0 => {
                let room = Stable::new(TagReceived::payload(count(cmd.count)?)?);
                let (result, room) = self.worker.tag_recv(cmd.tag, cmd.tag_mask, room).await;
                let mut data = room.into_inner();
                data.truncate(received(&result, data.len()));
                (result, Received::Inline(data))
            }
            memh_id => {
                let part = self.memories.part(cx.dest_id(), memh_id, cmd.buffer, cmd.count)?;
                let result = part.recv(&self.worker, cmd.tag, cmd.tag_mask).await;
                let len = received(&result, count(cmd.count)?) as u64;
                (result, Received::Registered { len })
            }
        };
        let sender_tag = result.as_ref().map_or(0, |info| info.tag);
        Ok(TagReceived { data, sender_tag, status: status(result).code() })
    }
}

/// How many bytes a receive brought: all that fit, of a message that is too long.
fn received(result: &Result<TagInfo, Status>, room: usize) -> usize {
    match result {
        Ok(info) => info.length.min(room),
        Err(Status::MESSAGE_TRUNCATED) => room,
        Err(_) => 0,
    }
}

fn status<T>(result: Result<T, Status>) -> Status {
    result.err().unwrap_or(Status::OK)
}

fn count(count: u64) -> Result<usize> {
    usize::try_from(count)
        .map_err(|_| Error::new(DocaError::TOO_BIG, "more bytes than this machine can count"))
}

fn driver(what: &'static str) -> impl Fn(ucx::Error) -> Error {
    move |error| Error::new(DocaError::DRIVER, what).with_source(error)
}
