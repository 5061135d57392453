//! The sandbox plugin: sends and receives tagged messages between the workers of a domain.
//!
//! It is DOCA's `worker_sandbox`, byte for byte, on UCX of its own. Every receive and every send is
//! a future that owns its memory, so a command holds up nobody, a message may be there before its
//! receive, and what is pending when the worker stops ends without a trace.
//!
//! # Registered memory
//! `MEM_MAP` gives a handle (`memh_id`) for memory that later commands name, by addresses of the
//! host's own choice:
//!
//! - with `ALLOCATE`, memory of this process: a message is received into it and sent on without
//!   passing the host;
//! - with what `Mmap::export` of `urom_host` gives, memory of the host, which it shares with this
//!   worker: UCX sends from it and receives into it where it is, if it is mapped here;
//! - with an exported handle of UCX, memory of the host that an RDMA device reads and writes.
//!
//! A handle is an entry of a table, with a generation, of the connection that made it: what is
//! stale, forged or another host's is `INVALID_VALUE`. The protocol has no command that ends a
//! registration: those of a host end when it leaves, in NVIDIA's worker when the worker stops.
//! Their number and their memory are bounded.
//!
//! A receive for which nobody waits any more ends, so it takes no message. In NVIDIA's worker it
//! goes on, because that worker tells its plugins nothing.
//!
//! # What a status says
//! A notification fails when nothing was tried: `NOT_FOUND` for a destination that is nobody,
//! `INVALID_VALUE` for a handle or bytes that are not the host's, `NO_MEMORY`, `DRIVER` when UCX
//! made no endpoint or registration, `CONNECTION_RESET` when a peer has blocked the UCX worker.
//! Receives that wait then fail so too. Otherwise it succeeds, and its own status field has UCX's
//! word on the send or receive.

mod memory;

use sandbox_protocol::{
    Handler, MemMap, MemMapped, Notification, TagReceived, TagRecv, TagSend, TagSent,
};
use ucx::{Features, Imported, Mesh, Stable, Status, TagInfo, Worker};
use urom_pdk::{Data, Payload, Received, prelude::*};

use memory::Memories;

/// The most bytes that a receive into an answer may ask for: the largest message limit there is.
const LONGEST_ANSWER: usize = (1 << 24) - 1;

/// How a receive ended.
type Came = Result<TagInfo, Status>;

struct Sandbox {
    memories: Memories,
    members: Mesh,
}

impl Sandbox {
    /// The UCX worker, unless a peer has blocked its queue. Members of a domain have only its
    /// address, so they could not reach another one.
    fn ucx(&self) -> Result<Worker> {
        self.members.worker().or_code(DocaError::CONNECTION_RESET, "start the worker again")
    }
}

#[urom_plugin]
impl Handler for Sandbox {
    fn open(_: &OpenContext) -> Result<Self> {
        let mut features = Features::TAG;
        if Imported::is_possible() {
            features |= Features::EXPORTED_MEMH;
        }
        let settings = ucx::Context::builder(features).watched_shared_memory();
        let members = Mesh::open(settings, |_| Ok(()), |_| ());
        let members = members.or_code(DocaError::DRIVER, "opening UCX")?;
        Ok(Sandbox { memories: Memories::default(), members })
    }

    fn address(&self) -> Result<Vec<u8>> {
        Ok(self
            .members
            .address()
            .or_code(DocaError::DRIVER, "asking UCX for an address")?
            .as_bytes()
            .to_vec())
    }

    fn progress(&self) -> bool {
        self.members.progress()
    }

    fn host_left(&self, connection: u64) {
        self.memories.forget(connection);
    }

    async fn mem_map(&self, cx: &Context, cmd: MemMap<'_>) -> Result<MemMapped> {
        let memh_id = self.memories.map(&self.ucx()?, cx, &cmd.map_params, cmd.exported_memh)?;
        Ok(MemMapped { memh_id })
    }

    async fn tag_send(&self, cx: &Context, cmd: TagSend<'_>) -> Result<TagSent> {
        // By the address: a member's id may mean another worker in the next domain.
        let address = cx.domains().address(cmd.dest)?;
        // SAFETY: what a member's own plugin said, by way of the domain's hosts and their
        // rendezvous. They are trusted with the memory of the workers in it: the guide's page on
        // security says so.
        let member = unsafe { self.members.endpoint(address) };
        let peer = member.or_else(|error| {
            self.ucx()?;
            Err(error).or_code(DocaError::DRIVER, "connecting to a member")
        })?;
        let sent = match cmd.data {
            Data::Inline(bytes) => peer.tag_send(cmd.tag, Stable::new(cx.hold(bytes)?)).await.0,
            Data::Registered(at) => {
                let (memory, address) = (at.memory.get(), at.address);
                let part = self.memories.find(cx.dest_id(), memory, address, at.len)?;
                part.send(&peer, cmd.tag).await
            }
        };
        Ok(TagSent { status: sent.err().unwrap_or(Status::OK).code() })
    }

    async fn tag_recv(&self, cx: &Context, cmd: TagRecv) -> Result<TagReceived> {
        let ucx = self.ucx()?;
        let (came, data) = if cmd.memh_id == 0 {
            let count = usize::try_from(cmd.count).ok().filter(|count| *count <= LONGEST_ANSWER);
            let count =
                count.ok_or_else(|| Error::new(DocaError::TOO_BIG, "no answer is that long"))?;
            // What does not fit an answer needs no room.
            let room = |answer: usize| answer.saturating_sub(Notification::FIXED_LEN);
            let longest = cx.longest_answer().map_or(count, room).min(count);
            let room = Stable::new(TagReceived::payload(longest)?);
            let receive = ucx.tag_recv(cmd.tag, cmd.tag_mask, room);
            let (came, data) = cut(cx.unless_cancelled(receive).await?);
            if came == Err(Status::MESSAGE_TRUNCATED) && longest < count {
                let text = format!("a message exceeds the {longest} bytes that an answer may have");
                return Err(Error::new(DocaError::TOO_BIG, text));
            }
            (came, Received::Inline(data))
        } else {
            let part = self.memories.find(cx.dest_id(), cmd.memh_id, cmd.buffer, cmd.count)?;
            let receive = part.receive(&ucx, cmd.tag, cmd.tag_mask);
            let came = cx.unless_cancelled(receive).await?;
            (came, Received::Registered { len: came.map_or(0, |info| info.length as u64) })
        };
        if came == Err(Status::CONNECTION_RESET) {
            self.ucx()?;
        }
        let (sender_tag, status) =
            came.map_or_else(|status| (0, status.code()), |info| (info.tag, 0));
        Ok(TagReceived { data, sender_tag, status })
    }
}

impl Drop for Sandbox {
    /// A send is reported when its bytes may change, which may be before they left. A worker gives
    /// its plugins 1.5 s.
    fn drop(&mut self) {
        self.members.flush(std::time::Duration::from_millis(500));
    }
}

/// What was received, cut to what came: nothing of a message that was too long, because UCX drops
/// those.
fn cut((came, room): (Came, Stable<Payload>)) -> (Came, Payload) {
    let mut room = room.into_inner();
    room.truncate(came.map_or(0, |info| info.length));
    (came, room)
}

#[cfg(test)]
mod tests;
