//! The RDMA plugin's commands and notifications: DOCA RDMA's operations (`doca_rdma.h`), which the
//! workers of two hosts carry out on the memory of both.
//!
//! Both sides use this crate: the plugin implements [`Handler`], a host sends commands through
//! [`Client`]. The crate `rdma-host` has what a program uses: buffers, memory and states.
//!
//! An *instance* is one end of a connection (`doca_rdma`). A host creates it, starts it, exports
//! its details, passes them to the other end by any channel, and connects with the details that it
//! gets from there. Local memory is a list of [`MemoryRange`]s that the host shares with its
//! worker. The other end's memory is a [`Remote`] place.

use bytemuck::{Pod, Zeroable};
pub use urom_abi::memory::{Access, MemoryRange};
use urom_abi::{Described, Elements, Payload, urom_command, urom_notification};
use zerocopy::{FromZeros, Immutable, IntoBytes, TryFromBytes};

/// A place in the memory of the other end. The memory's owner shares it with its own worker.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable, Described)]
pub struct Remote {
    /// The number of the memory map; 0 for no memory, which an operation on no bytes may name.
    pub memory: u64,
    /// Where the bytes begin, in bytes from the start of the map.
    pub offset: u64,
}

/// What the plugin allows for each instance.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable, Described)]
pub struct Limits {
    /// The longest message, in bytes (`doca_rdma_cap_get_max_message_size`).
    pub message: u64,
    /// The most ranges of a list of buffers (`doca_rdma_cap_get_max_send_buf_list_len`).
    pub list: u32,
    /// The most operations that are not complete, receives apart.
    pub operations: u32,
    /// The most receives that wait for a message (`doca_rdma_set_recv_queue_size`).
    pub receives: u32,
    /// The most instances of a host.
    pub instances: u32,
}

/// The state of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromZeros, IntoBytes, Immutable, Described)]
#[repr(u32)]
pub enum State {
    /// Created or stopped. It can be started.
    Reset = 0,
    /// Started. It takes receives, and can be connected.
    Init = 1,
    /// Connected. It takes all operations.
    Connected = 2,
    /// An operation has failed, or the other end is gone. It can be stopped.
    Error = 3,
}

/// Which operation of the other end completed a receive (`doca_rdma_opcode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, TryFromBytes, IntoBytes, Immutable, Described)]
#[repr(u32)]
pub enum Opcode {
    /// A send.
    Send = 1,
    /// A send with an immediate value.
    SendImm = 2,
    /// A write with an immediate value, which has written the other bytes elsewhere.
    WriteImm = 3,
}

/// What a host can ask of the RDMA plugin.
#[urom_command(plugin = "worker_rdma", version = 1)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Command<'a> {
    /// Creates an instance in the state RESET (`doca_rdma_create`).
    #[urom(reply = Created)]
    Create {
        /// What the other end may do (`doca_rdma_set_permissions`): bits of
        /// `enum doca_access_flag`. Without it, nothing.
        #[urom(optional)]
        permissions: u32,
    },
    /// Destroys an instance in any state (`doca_rdma_destroy`).
    #[urom(reply = Destroyed)]
    Destroy {
        /// The instance.
        rdma: u64,
    },
    /// Brings an instance from RESET to INIT (`doca_ctx_start`).
    #[urom(reply = Started)]
    Start {
        /// The instance.
        rdma: u64,
    },
    /// Brings an instance to RESET (`doca_ctx_stop`). Operations that are not complete end with
    /// `SHUTDOWN`.
    #[urom(reply = Stopped)]
    Stop {
        /// The instance.
        rdma: u64,
    },
    /// Gives the details by which the other end connects (`doca_rdma_export`), in the state INIT.
    #[urom(reply = Exported)]
    Export {
        /// The instance.
        rdma: u64,
    },
    /// Connects to the other end, and brings an instance from INIT to CONNECTED
    /// (`doca_rdma_connect`). Operations wait until the other end has connected, too.
    #[urom(reply = Connected)]
    Connect {
        /// The instance.
        rdma: u64,
        /// What the other end's `Export` gave.
        #[urom(inline)]
        details: &'a [u8],
    },
    /// Asks for an instance's state (`doca_ctx_get_state`).
    #[urom(reply = StateIs)]
    Query {
        /// The instance.
        rdma: u64,
    },
    /// Waits for a message of the other end (`doca_rdma_task_receive`), in INIT and CONNECTED.
    #[urom(reply = Received)]
    Receive {
        /// The instance.
        rdma: u64,
        /// Where the message goes; nowhere for one without bytes.
        #[urom(inline)]
        places: Elements<'a, MemoryRange>,
    },
    /// Sends a message to a receive of the other end (`doca_rdma_task_send`).
    #[urom(reply = Sent)]
    Send {
        /// The instance.
        rdma: u64,
        /// The message.
        #[urom(inline)]
        pieces: Elements<'a, MemoryRange>,
    },
    /// As `Send`, with an immediate value (`doca_rdma_task_send_imm`).
    #[urom(reply = Sent)]
    SendImm {
        /// The instance.
        rdma: u64,
        /// The value, big-endian.
        immediate: [u8; 4],
        /// The message.
        #[urom(inline)]
        pieces: Elements<'a, MemoryRange>,
    },
    /// Writes to the other end's memory (`doca_rdma_task_write`).
    #[urom(reply = Written)]
    Write {
        /// The instance.
        rdma: u64,
        /// Where the bytes go.
        target: Remote,
        /// The bytes.
        #[urom(inline)]
        pieces: Elements<'a, MemoryRange>,
    },
    /// As `Write`, and then completes a receive of the other end with an immediate value
    /// (`doca_rdma_task_write_imm`).
    #[urom(reply = Written)]
    WriteImm {
        /// The instance.
        rdma: u64,
        /// Where the bytes go.
        target: Remote,
        /// The value, big-endian.
        immediate: [u8; 4],
        /// The bytes.
        #[urom(inline)]
        pieces: Elements<'a, MemoryRange>,
    },
    /// Reads from the other end's memory (`doca_rdma_task_read`): as many bytes as the places have.
    #[urom(reply = ReadDone)]
    Read {
        /// The instance.
        rdma: u64,
        /// Where the bytes are.
        source: Remote,
        /// Where they go.
        #[urom(inline)]
        places: Elements<'a, MemoryRange>,
    },
    /// Replaces eight bytes of the other end's memory, if they are what is expected
    /// (`doca_rdma_task_atomic_cmp_swp`).
    #[urom(reply = Swapped)]
    CompareSwap {
        /// The instance.
        rdma: u64,
        /// Where the eight bytes are, at an address that is a multiple of eight.
        target: Remote,
        /// What is expected, little-endian in memory.
        compare: u64,
        /// What replaces it.
        swap: u64,
        /// Where the eight bytes from before go.
        result: MemoryRange,
    },
    /// Adds to eight bytes of the other end's memory (`doca_rdma_task_atomic_fetch_add`).
    #[urom(reply = Added)]
    FetchAdd {
        /// The instance.
        rdma: u64,
        /// Where the eight bytes are, at an address that is a multiple of eight.
        target: Remote,
        /// What is added; overflow wraps.
        add: u64,
        /// Where the eight bytes from before go.
        result: MemoryRange,
    },
}

/// What the RDMA plugin answers.
#[urom_notification]
#[derive(Debug, Clone, PartialEq)]
pub enum Notification {
    /// The instance exists.
    Created {
        /// The number by which commands name it.
        rdma: u64,
        /// What it allows.
        limits: Limits,
    },
    /// The instance is gone.
    Destroyed,
    /// The instance is in the state INIT.
    Started,
    /// The instance is in the state RESET.
    Stopped,
    /// The details of the instance.
    Exported {
        /// For the other end. They are good until the instance stops.
        #[urom(inline)]
        details: Payload,
    },
    /// The instance is in the state CONNECTED.
    Connected,
    /// The state of the instance.
    StateIs {
        /// The state.
        state: State,
        /// The code of the first failure, in the state ERROR (`doca_error_t`).
        failure: u32,
        /// What failed, in the state ERROR.
        #[urom(inline)]
        why: Payload,
    },
    /// A message has arrived.
    Received {
        /// What sent it.
        opcode: Opcode,
        /// The immediate value, big-endian, if the operation has one.
        immediate: [u8; 4],
        /// How many bytes arrived in the places of the receive. Those of a write are elsewhere.
        len: u64,
    },
    /// The message is in the places of the other end's receive.
    Sent,
    /// The bytes are in the other end's memory.
    Written,
    /// The bytes are in the local places.
    ReadDone,
    /// The comparison was made. The eight bytes are in the local place, too.
    Swapped {
        /// What was there before.
        before: u64,
    },
    /// The addition was made. The eight bytes are in the local place, too.
    Added {
        /// What was there before.
        before: u64,
    },
}
