//! The sandbox plugin's commands and notifications: memory, tag send and tag receive, byte for byte
//! as in DOCA's `worker_sandbox` sample (`urom_sandbox.h`, version 1).
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

/// The memory to map: `ucp_mem_map_params_t` of UCX 1.16 and newer, 48 bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable, urom_abi::Described)]
pub struct MapParams {
    /// The other fields that are set: a bit for each, in UCX's order, `ADDRESS` first.
    pub field_mask: u64,
    /// The start address that later commands use for the memory.
    pub address: u64,
    /// The length in bytes.
    pub length: u64,
    /// 2 (`UCP_MEM_MAP_ALLOCATE`) for memory that the plugin allocates.
    pub flags: u32,
    /// Not used by the plugin.
    pub prot: u32,
    /// Not used by the plugin.
    pub memory_type: u32,
    /// C's padding.
    pub pad: u32,
    /// The address of the exported handle, in C.
    pub exported_memh_buffer: u64,
}

impl MapParams {
    /// Bit of [`field_mask`](Self::field_mask): the address is set
    /// (`UCP_MEM_MAP_PARAM_FIELD_ADDRESS`).
    pub const FIELD_ADDRESS: u64 = 1;
    /// Bit of [`field_mask`](Self::field_mask): the length is set.
    pub const FIELD_LENGTH: u64 = 2;
    /// Bit of [`field_mask`](Self::field_mask): the flags are set.
    pub const FIELD_FLAGS: u64 = 4;
    /// Bit of [`field_mask`](Self::field_mask): the exported handle is set.
    pub const FIELD_EXPORTED: u64 = 0x20;
    /// Bit of [`flags`](Self::flags): the plugin allocates the memory (`UCP_MEM_MAP_ALLOCATE`).
    pub const ALLOCATE: u32 = 2;

    /// Returns parameters for `length` bytes that the plugin allocates, which later commands find
    /// at `address`.
    pub fn allocate(address: u64, length: u64) -> MapParams {
        let field_mask = Self::FIELD_ADDRESS | Self::FIELD_LENGTH | Self::FIELD_FLAGS;
        MapParams { field_mask, address, length, flags: Self::ALLOCATE, ..Self::zeroed() }
    }

    /// Returns parameters for host memory with an exported handle, which later commands find at
    /// `address`.
    pub fn exported(address: u64) -> MapParams {
        MapParams {
            field_mask: Self::FIELD_ADDRESS | Self::FIELD_EXPORTED,
            address,
            ..Self::zeroed()
        }
    }
}

/// The commands of the sandbox plugin.
#[urom_command(plugin = "worker_sandbox", version = 1)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command<'a> {
    /// Registers memory for later sends and receives of this host, until it leaves.
    #[urom(reply = MemMapped)]
    MemMap {
        /// Any value; the answer repeats it.
        #[urom(echo)]
        context: u64,
        /// The memory.
        map_params: MapParams,
        /// The exported handle of the host's memory; empty for memory that the plugin allocates.
        /// The Rust plugin also accepts the result of `Mmap::export` of `urom_host`.
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
        /// Inline or in registered memory; empty by default. Any number of sends may share
        /// registered bytes.
        #[urom(inline, optional, unless = memh_id)]
        data: Data<'a>,
        /// The tag to send with.
        tag: u64,
        /// The handle of the registered memory; 0 for inline data.
        #[urom(word)]
        memh_id: u64,
    },
    /// Receives the first message whose tag matches.
    #[urom(reply = TagReceived)]
    TagRecv {
        /// Any value; the answer repeats it.
        #[urom(echo)]
        context: u64,
        /// The destination in registered memory; not used without `memh_id`.
        #[urom(optional)]
        buffer: u64,
        /// The size of the destination in bytes.
        count: u64,
        /// The tag to match.
        tag: u64,
        /// The bits of the tag that must match.
        tag_mask: u64,
        /// The handle of the registered memory to receive into, if no other command uses these
        /// bytes (`UCS_ERR_BUSY`); 0, the default, receives into the answer.
        #[urom(optional)]
        memh_id: u64,
    },
}

/// The answers of the sandbox plugin. A `status` is UCX's (`ucs_status_t`): 0 on success, negative
/// otherwise.
#[urom_notification]
#[derive(Debug, PartialEq)]
pub enum Notification {
    /// The memory is registered. C's plugin sends the tag of the next variant.
    #[urom(also = 1)]
    MemMapped {
        /// The command's value.
        #[urom(echo)]
        context: u64,
        /// The handle for later commands, never 0.
        memh_id: u64,
    },
    /// The data may be reused; it may not have been received yet.
    TagSent {
        /// The command's value.
        #[urom(echo)]
        context: u64,
        /// The result of the send.
        status: i8,
    },
    /// A message was received.
    TagReceived {
        /// The command's value.
        #[urom(echo)]
        context: u64,
        /// The message, or its length in registered memory. Empty on an error.
        #[urom(inline)]
        data: Received,
        /// The sender's tag; 0 on an error.
        sender_tag: u64,
        /// The result of the receive; `UCS_ERR_MESSAGE_TRUNCATED` if the message was too long and
        /// was dropped.
        status: i8,
    },
}
