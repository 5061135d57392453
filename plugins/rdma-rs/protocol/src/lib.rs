//! The RDMA plugin's commands and notifications: DOCA RDMA's operations (`doca_rdma.h`), which the
//! workers of two hosts run on the memory of both.
//!
//! Both sides use this crate: the plugin implements [`Handler`], a host sends commands through
//! [`Client`]. The crate `rdma-host` has the API for programs: buffers, memory and states.
//!
//! An *instance* is one end of a connection (`doca_rdma`). A host creates it, starts it, sends its
//! exported details to the other end by any channel, and connects with the other end's details.
//! Local memory is a list of [`MemoryRange`]s that the host shares with its worker. The other end's
//! memory is a [`Remote`] address.

use bytemuck::{Pod, Zeroable};
pub use urom_abi::memory::{Access, MemoryRange};
use urom_abi::{Described, Elements, Payload, urom_command, urom_notification};
use zerocopy::{FromZeros, Immutable, IntoBytes, TryFromBytes};

/// An address in the other end's memory. The owner shares this memory with its own worker.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable, Described)]
pub struct Remote {
    /// The number of the memory map; 0 for operations without bytes.
    pub memory: u64,
    /// The offset in bytes from the start of the map.
    pub offset: u64,
}

/// The plugin's limits for each instance.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable, Described)]
pub struct Limits {
    /// The longest message, in bytes (`doca_rdma_cap_get_max_message_size`).
    pub message: u64,
    /// Maximum number of ranges in a list of buffers (`doca_rdma_cap_get_max_send_buf_list_len`).
    pub list: u32,
    /// Maximum number of pending operations, excluding receives.
    pub operations: u32,
    /// Maximum number of receives that wait for a message (`doca_rdma_set_recv_queue_size`).
    pub receives: u32,
    /// Maximum number of instances of a host.
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

/// The operation of the other end that completed a receive (`doca_rdma_opcode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, TryFromBytes, IntoBytes, Immutable, Described)]
#[repr(u32)]
pub enum Opcode {
    /// A send.
    Send = 1,
    /// A send with an immediate value.
    SendImm = 2,
    /// A write with an immediate value, which has written its bytes elsewhere.
    WriteImm = 3,
}

/// The commands of the RDMA plugin.
#[urom_command(plugin = "worker_rdma", version = 1)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Command<'a> {
    /// Creates an instance in the state RESET (`doca_rdma_create`).
    #[urom(reply = Created)]
    Create {
        /// The other end's permissions (`doca_rdma_set_permissions`): bits of `enum
        /// doca_access_flag`. None by default.
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
    /// Brings an instance to RESET (`doca_ctx_stop`). Pending operations end with `SHUTDOWN`.
    #[urom(reply = Stopped)]
    Stop {
        /// The instance.
        rdma: u64,
    },
    /// Returns the details with which the other end connects (`doca_rdma_export`), in the state
    /// INIT.
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
        /// The other end's answer to `Export`.
        #[urom(inline)]
        details: &'a [u8],
    },
    /// Returns an instance's state (`doca_ctx_get_state`).
    #[urom(reply = StateIs)]
    Query {
        /// The instance.
        rdma: u64,
    },
    /// Receives a message of the other end (`doca_rdma_task_receive`), in INIT and CONNECTED.
    #[urom(reply = ReceiveDone)]
    Receive {
        /// The instance.
        rdma: u64,
        /// The destination of the message; empty for a message without bytes.
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
    /// Like `Send`, with an immediate value (`doca_rdma_task_send_imm`).
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
        /// The destination.
        target: Remote,
        /// The bytes.
        #[urom(inline)]
        pieces: Elements<'a, MemoryRange>,
    },
    /// Like `Write`, and then completes a receive of the other end with an immediate value
    /// (`doca_rdma_task_write_imm`).
    #[urom(reply = Written)]
    WriteImm {
        /// The instance.
        rdma: u64,
        /// The destination.
        target: Remote,
        /// The value, big-endian.
        immediate: [u8; 4],
        /// The bytes.
        #[urom(inline)]
        pieces: Elements<'a, MemoryRange>,
    },
    /// Reads from the other end's memory (`doca_rdma_task_read`): as many bytes as the ranges have.
    #[urom(reply = ReadDone)]
    Read {
        /// The instance.
        rdma: u64,
        /// The source.
        source: Remote,
        /// The destination.
        #[urom(inline)]
        places: Elements<'a, MemoryRange>,
    },
    /// Replaces eight bytes of the other end's memory, if they equal `compare`
    /// (`doca_rdma_task_atomic_cmp_swp`).
    #[urom(reply = Swapped)]
    CompareSwap {
        /// The instance.
        rdma: u64,
        /// The address of the eight bytes, a multiple of eight.
        target: Remote,
        /// The expected value, little-endian in memory.
        compare: u64,
        /// The new value.
        swap: u64,
        /// The destination of the eight bytes before the operation.
        result: MemoryRange,
    },
    /// Adds to eight bytes of the other end's memory (`doca_rdma_task_atomic_fetch_add`).
    #[urom(reply = Added)]
    FetchAdd {
        /// The instance.
        rdma: u64,
        /// The address of the eight bytes, a multiple of eight.
        target: Remote,
        /// The number to add; overflow wraps.
        add: u64,
        /// The destination of the eight bytes before the operation.
        result: MemoryRange,
    },
}

/// The answers of the RDMA plugin.
#[urom_notification]
#[derive(Debug, Clone, PartialEq)]
pub enum Notification {
    /// The instance exists.
    Created {
        /// The number of the instance, for commands.
        rdma: u64,
        /// The instance's limits.
        limits: Limits,
    },
    /// The instance is destroyed.
    Destroyed,
    /// The instance is in the state INIT.
    Started,
    /// The instance is in the state RESET.
    Stopped,
    /// The details of the instance.
    Exported {
        /// For the other end. Valid until the instance stops.
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
        /// The reason of the failure, in the state ERROR.
        #[urom(inline)]
        why: Payload,
    },
    /// A message has arrived.
    ReceiveDone {
        /// The operation that sent it.
        opcode: Opcode,
        /// The immediate value, big-endian, if the operation has one.
        immediate: [u8; 4],
        /// Number of bytes in the ranges of the receive. The bytes of a write are elsewhere.
        len: u64,
    },
    /// The message is in the ranges of the other end's receive.
    Sent,
    /// The bytes are in the other end's memory.
    Written,
    /// The bytes are in the local ranges.
    ReadDone,
    /// The comparison was made. The local range has the eight bytes from before, too.
    Swapped {
        /// The value before the operation.
        before: u64,
    },
    /// The addition was made. The local range has the eight bytes from before, too.
    Added {
        /// The value before the operation.
        before: u64,
    },
}
