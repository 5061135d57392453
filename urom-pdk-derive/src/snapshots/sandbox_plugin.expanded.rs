mod memory;
use sandbox_protocol::{
    Handler, MemMap, MemMapped, Notification, TagReceived, TagRecv, TagSend, TagSent,
};
use ucx::{Features, Imported, Mesh, Stable, Status, TagInfo};
use urom_pdk::{Data, Payload, Received, prelude::*};
use memory::Memories;
/// The most bytes that a receive into an answer may ask for: the largest message limit there is.
const LONGEST_ANSWER: usize = (1 << 24) - 1;
/// How a receive ended.
type Came = Result<TagInfo, Status>;
struct Sandbox {
    memories: Memories,
    members: Mesh,
    worker: ucx::Worker,
}
impl Handler<::urom_pdk::Side> for Sandbox {
    fn open(_: &OpenContext) -> Result<Self> {
        let mut features = Features::TAG;
        if Imported::is_possible() {
            features |= Features::EXPORTED_MEMH;
        }
        let context = ucx::Context::builder(features).watched_shared_memory().build();
        let worker = context
            .and_then(|context| context.worker())
            .or_code(DocaError::DRIVER, "opening UCX")?;
        let members = Mesh::new(&worker)
            .or_code(DocaError::DRIVER, "listening for members")?;
        Ok(Sandbox {
            memories: Memories::default(),
            members,
            worker,
        })
    }
    fn address(&self) -> Result<Vec<u8>> {
        Ok(
            self
                .members
                .address()
                .or_code(DocaError::DRIVER, "asking UCX for an address")?
                .as_bytes()
                .to_vec(),
        )
    }
    fn progress(&self) -> bool {
        self.worker.progress()
    }
    fn host_left(&self, connection: u64) {
        self.memories.forget(connection);
    }
    async fn mem_map(&self, cx: &Context, cmd: MemMap<'_>) -> Result<MemMapped> {
        let memh_id = self
            .memories
            .map(&self.worker, cx, &cmd.map_params, cmd.exported_memh)?;
        Ok(MemMapped { memh_id })
    }
    async fn tag_send(&self, cx: &Context, cmd: TagSend<'_>) -> Result<TagSent> {
        let address = cx.domains().address(cmd.dest)?;
        let member = unsafe { self.members.endpoint(address) };
        let peer = member.or_code(DocaError::DRIVER, "connecting to a member")?;
        let sent = match cmd.data {
            Data::Inline(bytes) => {
                peer.tag_send(cmd.tag, Stable::new(cx.hold(bytes)?)).await.0
            }
            Data::Registered(at) => {
                let (memory, address) = (at.memory.get(), at.address);
                let part = self.memories.find(cx.dest_id(), memory, address, at.len)?;
                part.send(&peer, cmd.tag).await
            }
        };
        Ok(TagSent {
            status: sent.err().unwrap_or(Status::OK).code(),
        })
    }
    async fn tag_recv(&self, cx: &Context, cmd: TagRecv) -> Result<TagReceived> {
        if self.members.is_blocked() {
            let text = "a process on this machine was killed while it sent, which blocks the \
                plugin's UCX worker for all others: start the worker again";
            return Err(Error::new(DocaError::CONNECTION_RESET, text));
        }
        let (came, data) = if cmd.memh_id == 0 {
            let count = usize::try_from(cmd.count)
                .ok()
                .filter(|count| *count <= LONGEST_ANSWER);
            let count = count
                .ok_or_else(|| Error::new(
                    DocaError::TOO_BIG,
                    "no answer is that long",
                ))?;
            let room = |answer: usize| answer.saturating_sub(Notification::FIXED_LEN);
            let longest = cx.longest_answer().map_or(count, room).min(count);
            let room = Stable::new(TagReceived::payload(longest)?);
            let receive = self.worker.tag_recv(cmd.tag, cmd.tag_mask, room);
            let (came, data) = cut(cx.unless_cancelled(receive).await?);
            if came == Err(Status::MESSAGE_TRUNCATED) && longest < count {
                let text = format!(
                    "a message exceeds the {longest} bytes that an answer may have"
                );
                return Err(Error::new(DocaError::TOO_BIG, text));
            }
            (came, Received::Inline(data))
        } else {
            let part = self
                .memories
                .find(cx.dest_id(), cmd.memh_id, cmd.buffer, cmd.count)?;
            let receive = part.receive(&self.worker, cmd.tag, cmd.tag_mask);
            let came = cx.unless_cancelled(receive).await?;
            (
                came,
                Received::Registered {
                    len: came.map_or(0, |info| info.length as u64),
                },
            )
        };
        let (sender_tag, status) = came
            .map_or_else(|status| (0, status.code()), |info| (info.tag, 0));
        Ok(TagReceived {
            data,
            sender_tag,
            status,
        })
    }
}
#[cfg(panic = "abort")]
::core::compile_error! {
    "a plugin built with `panic = \"abort\"` takes the whole worker down when a handler panics: build with `panic = \"unwind\"`, or accept it with `#[urom_plugin(abort = \"allowed\")]`"
}
const _: () = {
    const _: ::urom_pdk::__private::GetIfaceFn = urom_plugin_get_iface;
    const _: ::urom_pdk::__private::GetVersionFn = urom_plugin_get_version;
    const _: &::urom_pdk::__private::PluginExtension = &UROM_PLUGIN_EXTENSION;
    #[cfg_attr(not(test), unsafe(export_name = "urom_plugin_extension"))]
    static UROM_PLUGIN_EXTENSION: ::urom_pdk::__private::PluginExtension = ::urom_pdk::__private::extension::<
        Sandbox,
        _,
    >(<Sandbox as Handler<::urom_pdk::Side>>::__made_by_urom_command);
    const __PROTOCOL: &::urom_pdk::__private::describe::Protocol = ::urom_pdk::__private::protocol(
        <Sandbox as Handler<::urom_pdk::Side>>::__made_by_urom_command,
    );
    const __BUILD: &::urom_pdk::__private::section::Build = &::urom_pdk::__private::build(
        ::core::cfg!(panic = "abort"),
    );
    const __LEN: ::core::primitive::usize = ::urom_pdk::__private::section::len(
        __PROTOCOL,
        __BUILD,
    );
    #[cfg_attr(not(test), unsafe(link_section = ".urom.description"))]
    static __DESCRIPTION: [::core::primitive::u8; __LEN] = ::urom_pdk::__private::section::array(
        __PROTOCOL,
        __BUILD,
    );
    #[cfg_attr(not(test), unsafe(no_mangle))]
    unsafe extern "C" fn urom_plugin_get_iface(
        __iface: *mut ::urom_pdk::__private::PluginIface,
    ) -> ::urom_pdk::__private::DocaError {
        ::urom_pdk::__private::keep(&__DESCRIPTION);
        unsafe {
            ::urom_pdk::__private::get_iface::<
                Sandbox,
                _,
            >(<Sandbox as Handler<::urom_pdk::Side>>::__made_by_urom_command, __iface)
        }
    }
    #[cfg_attr(not(test), unsafe(no_mangle))]
    unsafe extern "C" fn urom_plugin_get_version(
        __version: *mut ::core::primitive::u64,
    ) -> ::urom_pdk::__private::DocaError {
        unsafe {
            ::urom_pdk::__private::get_version(
                <Sandbox as Handler<::urom_pdk::Side>>::__made_by_urom_command,
                __version,
            )
        }
    }
};
impl Drop for Sandbox {
    /// A send is reported when its bytes may change, which may be before they left. A worker gives
    /// its plugins 1.5 s.
    fn drop(&mut self) {
        drop(self.worker.flush().wait_for(std::time::Duration::from_millis(500)));
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
