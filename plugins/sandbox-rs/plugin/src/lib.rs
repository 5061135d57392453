//! The sandbox plugin: sends and receives tagged messages between the workers of a domain.
//!
//! It is DOCA's `worker_sandbox`, byte for byte, with its own UCX worker. Every receive and send is
//! a future that owns its memory, and does not delay other commands.
//!
//! # Registered memory
//! `MEM_MAP` returns a handle (`memh_id`) for memory, with addresses that the host chooses:
//!
//! - with `ALLOCATE`, memory of this process: messages are received and sent on without the host;
//! - with an export of `urom_host` (`Mmap::export`), memory that the host shares with this worker:
//!   UCX sends and receives in place, if it is mapped here;
//! - with an exported UCX handle, memory of the host that an RDMA device reads and writes.
//!
//! A [`PerHost`] allocates the handles. The protocol cannot end a registration: a host's
//! registrations end when it leaves, in NVIDIA's worker when the worker stops.
//!
//! A cancelled receive ends without a message; in NVIDIA's worker it continues.
//!
//! # Status
//! A notification fails when UCX was not called: `NOT_FOUND` for an unknown destination,
//! `INVALID_VALUE` for a handle or bytes that are not the host's, `NO_MEMORY`, `DRIVER` when UCX
//! made no endpoint or registration, `CONNECTION_RESET` when a peer has blocked the UCX worker,
//! also for receives that wait then. Otherwise it succeeds, and its field `status` contains UCX's
//! status.

use sandbox_protocol::{
    Handler, MapParams, MemMap, MemMapped, Notification, TagReceived, TagRecv, TagSend, TagSent,
};
use ucx::{Features, Stable, Status, TagInfo};
use urom_pdk::memory::Exported;
use urom_pdk::peers::PeerWorker;
use urom_pdk::{Data, HostLimits, Payload, PerHost, Received, Region, prelude::*};

/// The longest receive into an answer: the largest message limit of a service.
const LONGEST_ANSWER: u64 = (1 << 24) - 1;

/// Limit of all registrations. Each counts at least [`LEAST`], so there are at most 1024.
const LIMITS: HostLimits = HostLimits { values: usize::MAX, bytes: 1 << 30 };
const LEAST: u64 = 1 << 20;

struct Sandbox {
    peers: PeerWorker,
    memories: PerHost<Region>,
}

impl Sandbox {
    /// Returns the `len` bytes at the host's address `at`, in the memory with this handle.
    fn find(&self, cx: &Context, handle: u64, at: u64, len: u64) -> Result<Region> {
        self.memories.get(cx.connection(), handle)?.at(at, len)
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
        let memh_id = self.memories.insert_with(cx.connection(), len.max(LEAST), |_| {
            let memory = match memh {
                [] if is_new => Region::allocate(&self.peers.ucx()?, len)?,
                // An address alone refers to the host's memory, which this process cannot access.
                [] => bail!(DocaError::INVALID_VALUE, "nothing to map"),
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
            ensure!(count <= LONGEST_ANSWER, DocaError::TOO_BIG, "no answer is that long");
            // The answer's payload is the buffer, limited by the answer's maximum length.
            let most = |answer: usize| answer.saturating_sub(Notification::FIXED_LEN);
            let most = cx.longest_answer().map_or(count as usize, most).min(count as usize);
            let payload = Stable::new(TagReceived::payload(most)?);
            let receive = ucx.tag_recv(tag, tag_mask, payload);
            let (came, data) = cut(cx.unless_cancelled(receive).await?);
            ensure!(
                came != Err(Status::MESSAGE_TRUNCATED) || most as u64 >= count,
                DocaError::TOO_BIG,
                "a message exceeds the {most} bytes that an answer may have"
            );
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

/// Truncates the payload to the message. UCX drops a message that is too long.
fn cut(
    (came, payload): (Result<TagInfo, Status>, Stable<Payload>),
) -> (Result<TagInfo, Status>, Payload) {
    let mut payload = payload.into_inner();
    payload.truncate(came.map_or(0, |info| info.length));
    (came, payload)
}

#[cfg(test)]
mod tests;
