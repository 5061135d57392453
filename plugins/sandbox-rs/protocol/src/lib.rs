//! The sandbox plugin's commands and notifications: memory, tag send and tag receive, byte for byte
//! those of DOCA's `worker_sandbox` sample (`urom_sandbox.h`, version 1).
//!
//! Both sides use this crate: the plugin implements [`Handler`], a host sends commands through
//! [`Client`].
//!
//! ```
//! use sandbox_protocol::MapParams;
//!
//! // 1 MiB in the plugin, whose first byte later commands call 0x1000.
//! let params = MapParams::allocate(0x1000, 1 << 20);
//! assert_eq!((params.address, params.length), (0x1000, 1 << 20));
//! ```

use bytemuck::{Pod, Zeroable};
use urom_abi::{Data, Received, urom_command, urom_notification};

/// Which memory to map: `ucp_mem_map_params_t` of UCX 1.16 and newer, 48 bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable, urom_abi::Described)]
pub struct MapParams {
    /// Which of the other fields count: a bit each, in UCX's order, `ADDRESS` first.
    pub field_mask: u64,
    /// Where the memory begins, in the addresses that later commands use for it.
    pub address: u64,
    /// How long it is, in bytes.
    pub length: u64,
    /// 2 (`UCP_MEM_MAP_ALLOCATE`) for memory that the plugin allocates.
    pub flags: u32,
    /// Not used by the plugin.
    pub prot: u32,
    /// Not used by the plugin.
    pub memory_type: u32,
    /// C's padding.
    pub pad: u32,
    /// C has the address of the exported handle here.
    pub exported_memh_buffer: u64,
}

impl MapParams {
    /// Bit of [`field_mask`](Self::field_mask): the address counts
    /// (`UCP_MEM_MAP_PARAM_FIELD_ADDRESS`).
    pub const FIELD_ADDRESS: u64 = 1;
    /// Bit of [`field_mask`](Self::field_mask): the length counts.
    pub const FIELD_LENGTH: u64 = 2;
    /// Bit of [`field_mask`](Self::field_mask): the flags count.
    pub const FIELD_FLAGS: u64 = 4;
    /// Bit of [`field_mask`](Self::field_mask): there is an exported handle.
    pub const FIELD_EXPORTED: u64 = 0x20;
    /// Bit of [`flags`](Self::flags): the plugin allocates the memory (`UCP_MEM_MAP_ALLOCATE`).
    pub const ALLOCATE: u32 = 2;

    /// Memory that the plugin allocates, `length` bytes; later commands call its first byte
    /// `address`.
    pub fn allocate(address: u64, length: u64) -> MapParams {
        let field_mask = Self::FIELD_ADDRESS | Self::FIELD_LENGTH | Self::FIELD_FLAGS;
        MapParams { field_mask, address, length, flags: Self::ALLOCATE, ..Self::zeroed() }
    }

    /// The host's own memory, whose exported handle goes with the command; later commands call its
    /// first byte `address`.
    pub fn exported(address: u64) -> MapParams {
        MapParams {
            field_mask: Self::FIELD_ADDRESS | Self::FIELD_EXPORTED,
            address,
            ..Self::zeroed()
        }
    }
}

/// What a host can ask of the sandbox plugin.
#[urom_command(plugin = "worker_sandbox", version = 1)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command<'a> {
    /// Registers memory for later sends and receives of this host, until it leaves.
    #[urom(reply = MemMapped)]
    MemMap {
        /// Any value; the answer repeats it.
        #[urom(echo)]
        context: u64,
        /// Which memory.
        map_params: MapParams,
        /// The exported handle of the host's memory; empty for memory that the plugin allocates.
        /// The Rust plugin takes what `Mmap::export` of `urom_host` makes, too.
        #[urom(inline, optional, addr = map_params.exported_memh_buffer)]
        exported_memh: &'a [u8],
    },
    /// Sends `data` to worker `dest` of the domain.
    #[urom(reply = TagSent)]
    TagSend {
        /// Any value; the answer repeats it.
        #[urom(echo)]
        context: u64,
        /// The receiver's id in the domain.
        dest: u64,
        /// Travels with the command, or lies in registered memory; nothing unless set. Any number
        /// of sends may share registered bytes.
        #[urom(inline, optional, unless = memh_id)]
        data: Data<'a>,
        /// The tag to send with.
        tag: u64,
        /// Which registered memory; 0 for data that travels with the command.
        #[urom(word)]
        memh_id: u64,
    },
    /// Receives the first message whose tag matches.
    #[urom(reply = TagReceived)]
    TagRecv {
        /// Any value; the answer repeats it.
        #[urom(echo)]
        context: u64,
        /// Where to receive in registered memory; not used without `memh_id`.
        #[urom(optional)]
        buffer: u64,
        /// How many bytes fit.
        count: u64,
        /// The tag to match.
        tag: u64,
        /// Which bits of the tag must match.
        tag_mask: u64,
        /// Which registered memory to receive into, where no other command may have these bytes
        /// (`UCS_ERR_BUSY`); 0 (unless set) receives into the answer.
        #[urom(optional)]
        memh_id: u64,
    },
}

/// What the sandbox plugin answers. A `status` is UCX's (`ucs_status_t`): 0 when all went well,
/// negative otherwise.
#[urom_notification]
#[derive(Debug, PartialEq)]
pub enum Notification {
    /// The memory is registered. C's plugin sends the tag of the next one.
    #[urom(also = 1)]
    MemMapped {
        /// The command's.
        #[urom(echo)]
        context: u64,
        /// The handle for later commands, never 0.
        memh_id: u64,
    },
    /// The data may be changed again; it need not have been received.
    TagSent {
        /// The command's.
        #[urom(echo)]
        context: u64,
        /// How the send ended.
        status: i8,
    },
    /// A message came.
    TagReceived {
        /// The command's.
        #[urom(echo)]
        context: u64,
        /// The message, or how much of it is now in registered memory. Nothing when there was an
        /// error.
        #[urom(inline)]
        data: Received,
        /// The sender's tag; 0 when there was an error.
        sender_tag: u64,
        /// How the receive ended; `UCS_ERR_MESSAGE_TRUNCATED` when the message was too long, and
        /// was dropped.
        status: i8,
    },
}
