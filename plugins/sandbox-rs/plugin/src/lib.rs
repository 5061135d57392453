//! The sandbox plugin: sends and receives tagged messages between the workers of a domain.
//!
//! It is DOCA's `worker_sandbox`, byte for byte, on UCX of its own. Every receive and every send is
//! a future that owns its memory: commands do not wait for each other, a message may arrive before
//! its receive, and pending commands end with the worker.
//!
//! # Registered memory
//! `MEM_MAP` gives a handle (`memh_id`) for memory that later commands name, by addresses of the
//! host's own choice:
//!
//! - with `ALLOCATE`, memory of this process: a message is received into it and sent on without
//!   passing the host;
//! - with an export of `urom_host` (`Mmap::export`), memory of the host, which it shares with this
//!   worker: UCX sends from it and receives into it in place, if it is mapped here;
//! - with an exported handle of UCX, memory of the host that an RDMA device reads and writes.
//!
//! A [`PerHost`] makes the handles. The protocol lacks a command that ends a registration: the
//! registrations of a host end when it leaves, in NVIDIA's worker when the worker stops.
//!
//! A cancelled receive ends without a message. In NVIDIA's worker, which does not report a cancel,
//! it goes on.
//!
//! # Status
//! A notification fails when UCX was not asked: `NOT_FOUND` for an unknown destination,
//! `INVALID_VALUE` for a handle or bytes that are not the host's, `NO_MEMORY`, `DRIVER` when UCX
//! made no endpoint or registration, `CONNECTION_RESET` when a peer has blocked the UCX worker,
//! also for receives that wait then. Otherwise it succeeds, and its own field `status` has UCX's
//! status of the send or receive.

use sandbox_protocol::{
    Handler, MapParams, MemMap, MemMapped, Notification, TagReceived, TagRecv, TagSend, TagSent,
};
use ucx::{Features, Stable, Status, TagInfo};
use urom_pdk::memory::Exported;
use urom_pdk::peers::PeerWorker;
use urom_pdk::{Data, HostLimits, Payload, PerHost, Received, Region, prelude::*};

/// The longest receive into an answer: the largest message limit of a service.
const LONGEST_ANSWER: u64 = (1 << 24) - 1;

/// The limit of all registrations together. Each costs its bytes in this process, [`LEAST`] at
/// least, so there are at most 1024.
const LIMITS: HostLimits = HostLimits { values: usize::MAX, bytes: 1 << 30 };
const LEAST: u64 = 1 << 20;

struct Sandbox {
    peers: PeerWorker,
    memories: PerHost<Region>,
}

impl Sandbox {
    /// The `len` bytes at the host's address `at`, of the memory with this handle.
    fn find(&self, cx: &Context, handle: u64, at: u64, len: u64) -> Result<Region> {
        self.memories.get(cx.dest_id(), handle)?.at(at, len)
    }
}

#[urom_plugin(peers = peers)]
impl Handler for Sandbox {
    fn open(cx: &OpenContext) -> Result<Self> {
        let peers = PeerWorker::open(cx, Features::TAG | Region::import_features())?;
        Ok(Sandbox { peers, memories: PerHost::new(cx, "registered memory", LIMITS) })
    }

    async fn mem_map(&self, cx: &Context, cmd: MemMap<'_>) -> Result<MemMapped> {
        let MemMap { map_params: params, exported_memh: memh, .. } = cmd;
        let has = |field| params.field_mask & field != 0;
        let is_new = has(MapParams::FIELD_FLAGS) && params.flags & MapParams::ALLOCATE != 0;
        let is_new = is_new && memh.is_empty();
        let len = if is_new && has(MapParams::FIELD_LENGTH) { params.length } else { 0 };
        let memh_id = self.memories.insert_with(cx.dest_id(), len.max(LEAST), |_| {
            let memory = match memh {
                [] if is_new => Region::allocate(&self.peers.ucx()?, len)?,
                // An address alone names memory of the host, which this process does not have.
                [] => return Err(Error::new(DocaError::INVALID_VALUE, "nothing to map")),
                _ if Exported::is_meant_by(memh) => {
                    cx.memory(Exported::read(memh)?.range())?.into()
                }
                _ => Region::import(cx, &self.peers.ucx()?, memh)?,
            };
            let own = memory.address();
            Ok(memory.with_address(if has(MapParams::FIELD_ADDRESS) {
                params.address
            } else {
                own
            }))
        })?;
        Ok(MemMapped { memh_id })
    }

    async fn tag_send(&self, cx: &Context, cmd: TagSend<'_>) -> Result<TagSent> {
        let peer = self.peers.member(cx, cmd.dest)?;
        let sent = match cmd.data {
            Data::Inline(bytes) => {
                peer.endpoint().tag_send(cmd.tag, Stable::new(cx.hold(bytes)?)).await.0
            }
            Data::Registered(at) => {
                let part = self.find(cx, at.memory.get(), at.address, at.len)?;
                part.tag_send(peer.endpoint(), cmd.tag).await
            }
        };
        Ok(TagSent { status: sent.err().unwrap_or(Status::OK).code() })
    }

    async fn tag_recv(&self, cx: &Context, cmd: TagRecv) -> Result<TagReceived> {
        let (ucx, TagRecv { tag, tag_mask, count, memh_id, .. }) = (self.peers.ucx()?, cmd);
        let (came, data) = if memh_id == 0 {
            if count > LONGEST_ANSWER {
                return Err(Error::new(DocaError::TOO_BIG, "no answer is that long"));
            }
            // The answer's payload is the buffer: it needs no bytes beyond the answer's limit.
            let most = |answer: usize| answer.saturating_sub(Notification::FIXED_LEN);
            let most = cx.longest_answer().map_or(count as usize, most).min(count as usize);
            let payload = Stable::new(TagReceived::payload(most)?);
            let receive = ucx.tag_recv(tag, tag_mask, payload);
            let (came, data) = cut(cx.unless_cancelled(receive).await?);
            if came == Err(Status::MESSAGE_TRUNCATED) && (most as u64) < count {
                let text = format!("a message exceeds the {most} bytes that an answer may have");
                return Err(Error::new(DocaError::TOO_BIG, text));
            }
            (came, Received::Inline(data))
        } else {
            let part = self.find(cx, memh_id, cmd.buffer, count)?;
            let came = cx.unless_cancelled(part.tag_recv(&ucx, tag, tag_mask)).await?;
            (came, Received::Registered { len: came.map_or(0, |info| info.length as u64) })
        };
        if came == Err(Status::CONNECTION_RESET) {
            self.peers.ucx()?;
        }
        let (sender_tag, status) = came.map_or_else(|it| (0, it.code()), |info| (info.tag, 0));
        Ok(TagReceived { data, sender_tag, status })
    }
}

/// Cuts the payload to the message. UCX drops a message that is too long.
fn cut(
    (came, payload): (Result<TagInfo, Status>, Stable<Payload>),
) -> (Result<TagInfo, Status>, Payload) {
    let mut payload = payload.into_inner();
    payload.truncate(came.map_or(0, |info| info.length));
    (came, payload)
}

#[cfg(test)]
mod tests;
