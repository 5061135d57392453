//! Memory registration and tag matching: an address and a length word in a nested structure and apart, registered memory
//! in place of bytes, a second tag.

use urom_abi::{Data, Received, urom_command, urom_notification};

/// `ucp_mem_map_params_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub(crate) struct MapParams {
    pub(crate) field_mask: u64,
    pub(crate) address: u64,
    pub(crate) length: u64,
    pub(crate) flags: u32,
    pub(crate) prot: u32,
    pub(crate) memory_type: u32,
    pub(crate) reserved: u32,
    pub(crate) exported_memh_buffer: u64,
}

#[urom_command(plugin = "worker_sandbox", version = 1)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Command<'a> {
    #[urom(reply = MemMapped)]
    MemMap {
        #[urom(echo)]
        context: u64,
        map_params: MapParams,
        #[urom(inline, addr = map_params.exported_memh_buffer)]
        exported_memh: &'a [u8],
    },
    #[urom(reply = TagSent)]
    TagSend {
        #[urom(echo)]
        context: u64,
        dest: u64,
        #[urom(inline, unless = memh_id, optional)]
        data: Data<'a>,
        tag: u64,
        #[urom(word)]
        memh_id: u64,
    },
    #[urom(reply = TagReceived)]
    TagRecv {
        #[urom(echo)]
        context: u64,
        #[urom(optional)]
        buffer: u64,
        count: u64,
        tag: u64,
        tag_mask: u64,
        #[urom(optional)]
        memh_id: u64,
    },
}

#[urom_notification]
#[derive(Debug, PartialEq)]
pub(crate) enum Notification {
    #[urom(also = 1)]
    MemMapped {
        #[urom(echo)]
        context: u64,
        memh_id: u64,
    },
    TagSent {
        #[urom(echo)]
        context: u64,
        status: i8,
    },
    TagReceived {
        #[urom(echo)]
        context: u64,
        #[urom(inline)]
        data: Received,
        sender_tag: u64,
        status: i8,
    },
}
