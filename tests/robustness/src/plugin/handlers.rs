//! Handlers of three protocols that behave and answer as the program requires.

use rdmo_protocol::{
    self, ClientInit, ClientInitialized, MrDereg, MrDeregistered, MrReg, MrRegistered, RqCreate,
    RqCreated, RqDestroy, RqDestroyed,
};
use sandbox_protocol::{MemMap, MemMapped, TagReceived, TagRecv, TagSend, TagSent};
use test_protocols::ucc::{
    self, ChannelCreated, Coll, CollDone, ContextCreate, ContextCreated, ContextDestroy,
    ContextDestroyed, CreatePassiveDataChannel, LibCreate, LibCreated, LibDestroy, LibDestroyed,
    TeamCreate, TeamCreated,
};
use urom_abi::{Data, Payload, Received};
use urom_pdk::prelude::*;

use super::script::{behave, script};

pub(super) const ADDRESS: &[u8] = b"the handler's own address";

struct Counted;

impl Counted {
    fn new() -> Counted {
        let script = script();
        script.handlers.set(script.handlers.get() + 1);
        Counted
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let script = script();
        script.handlers.set(script.handlers.get() - 1);
    }
}

pub(super) struct Sandbox(Counted);

pub(super) struct Rdmo(Counted);

pub(super) struct Ucc(Counted);

/// A payload of at most `most` bytes, in memory of the notification or the heap, by `choice`.
fn payload(
    choice: u64,
    most: u64,
    in_place: impl Fn(usize) -> Result<Payload, urom_abi::wire::EncodeError>,
) -> Result<Payload> {
    let len = (most % 600) as usize;
    let fill = |mut payload: Payload| {
        payload.fill(choice as u8);
        payload
    };
    Ok(match choice % 5 {
        0 => fill(in_place(len)?),
        1 => {
            let mut longer = fill(in_place(len + 100)?);
            longer.truncate(len);
            longer
        }
        2 => {
            let mut cut = fill(in_place(len)?);
            cut.advance(len / 2);
            cut
        }
        3 => fill(Payload::from(vec![0; len])),
        _ => Payload::default(),
    })
}

#[urom_plugin(export = false)]
impl sandbox_protocol::Handler for Sandbox {
    fn open(_: &OpenContext) -> Result<Self> {
        Ok(Sandbox(Counted::new()))
    }

    fn address(&self) -> Result<Vec<u8>> {
        let _ = &self.0;
        Ok(ADDRESS.to_vec())
    }

    async fn mem_map(&self, cx: &Context, cmd: MemMap<'_>) -> Result<MemMapped> {
        behave(cx, cmd.exported_memh).await?;
        Ok(MemMapped { memh_id: cmd.map_params.length })
    }

    async fn tag_send(&self, cx: &Context, cmd: TagSend<'_>) -> Result<TagSent> {
        let bytes = match cmd.data {
            Data::Inline(bytes) => bytes,
            Data::Registered(_) => &[],
        };
        behave(cx, bytes).await?;
        Ok(TagSent { status: cmd.tag as i8 })
    }

    async fn tag_recv(&self, cx: &Context, cmd: TagRecv) -> Result<TagReceived> {
        let answer = (cmd.memh_id == 0)
            .then(|| payload(cmd.tag, cmd.count, TagReceived::payload))
            .transpose()?;
        behave(cx, &[]).await?;
        let data = answer.map_or(Received::Registered { len: cmd.count }, Received::Inline);
        Ok(TagReceived { data, sender_tag: cmd.tag, status: 0 })
    }
}

#[urom_plugin(export = false)]
impl rdmo_protocol::Handler for Rdmo {
    fn open(_: &OpenContext) -> Result<Self> {
        Ok(Rdmo(Counted::new()))
    }

    fn address(&self) -> Result<Vec<u8>> {
        let _ = &self.0;
        Ok(ADDRESS.to_vec())
    }

    async fn client_init(&self, cx: &Context, cmd: ClientInit<'_>) -> Result<ClientInitialized> {
        behave(cx, cmd.addr).await?;
        let addr = payload(cmd.id, cmd.id >> 8, ClientInitialized::payload)?;
        Ok(ClientInitialized { addr })
    }

    async fn rq_create(&self, cx: &Context, cmd: RqCreate<'_>) -> Result<RqCreated> {
        behave(cx, cmd.addr).await?;
        Ok(RqCreated { rq_id: cmd.addr.len() as u64 })
    }

    async fn rq_destroy(&self, cx: &Context, cmd: RqDestroy) -> Result<RqDestroyed> {
        behave(cx, &[]).await?;
        Ok(RqDestroyed { rq_id: cmd.rq_id })
    }

    async fn mr_reg(&self, cx: &Context, cmd: MrReg<'_>) -> Result<MrRegistered> {
        behave(cx, cmd.packed_rkey).await?;
        Ok(MrRegistered { rkey: cmd.packed_memh.len() as u64 })
    }

    async fn mr_dereg(&self, cx: &Context, cmd: MrDereg) -> Result<MrDeregistered> {
        behave(cx, &[]).await?;
        Ok(MrDeregistered { rkey: cmd.rkey })
    }
}

#[urom_plugin(export = false)]
impl ucc::Handler for Ucc {
    fn open(_: &OpenContext) -> Result<Self> {
        Ok(Ucc(Counted::new()))
    }

    fn address(&self) -> Result<Vec<u8>> {
        let _ = &self.0;
        Ok(ADDRESS.to_vec())
    }

    async fn lib_create(&self, cx: &Context, cmd: LibCreate<'_>) -> Result<LibCreated> {
        behave(cx, cmd.params.as_bytes()).await?;
        Ok(LibCreated)
    }

    async fn lib_destroy(&self, cx: &Context, _: LibDestroy) -> Result<LibDestroyed> {
        behave(cx, &[]).await?;
        Ok(LibDestroyed)
    }

    async fn context_create(&self, cx: &Context, cmd: ContextCreate<'_>) -> Result<ContextCreated> {
        behave(cx, cmd.ranks.unwrap_or_default().as_bytes()).await?;
        Ok(ContextCreated { context: cmd.size })
    }

    async fn context_destroy(&self, cx: &Context, _: ContextDestroy) -> Result<ContextDestroyed> {
        behave(cx, &[]).await?;
        Ok(ContextDestroyed)
    }

    async fn team_create(&self, cx: &Context, cmd: TeamCreate) -> Result<TeamCreated> {
        behave(cx, &[]).await?;
        Ok(TeamCreated { team: cmd.context })
    }

    async fn coll(&self, cx: &Context, cmd: Coll<'_>) -> Result<CollDone> {
        behave(cx, cmd.source_counts.unwrap_or(cmd.work_buffer)).await?;
        Ok(CollDone { status: cmd.use_xgvmi })
    }

    async fn create_passive_data_channel(
        &self,
        cx: &Context,
        cmd: CreatePassiveDataChannel<'_>,
    ) -> Result<ChannelCreated> {
        behave(cx, cmd.ucp_addr).await?;
        Ok(ChannelCreated { status: 0 })
    }
}
