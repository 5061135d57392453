//! The allreduce plugin's commands and notifications. Both sides use this crate: the plugin
//! implements [`Handler`], a host sends commands through [`Client`].
//!
//! The members of a *group* are the members 0 to `size - 1` of a domain. Each host joins with
//! buffers that it shares with its worker. Every member then sends the same calls in the same
//! order, and the workers reduce.

pub use urom_abi::memory::MemoryRange;
use urom_abi::{Described, urom_command, urom_notification};
use zerocopy::{Immutable, IntoBytes, TryFromBytes};

/// The type of the elements, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, TryFromBytes, IntoBytes, Immutable, Described)]
#[repr(u32)]
pub enum Element {
    /// `float`, 4 bytes.
    F32 = 1,
    /// `double`, 8 bytes.
    F64 = 2,
    /// `int32_t`. A sum wraps.
    I32 = 3,
    /// `uint64_t`. A sum wraps.
    U64 = 4,
    /// bfloat16, 2 bytes. Each sum of two is rounded.
    Bf16 = 5,
}

impl Element {
    /// Returns the size in bytes.
    pub const fn size(self) -> u64 {
        match self {
            Element::Bf16 => 2,
            Element::F32 | Element::I32 => 4,
            Element::F64 | Element::U64 => 8,
        }
    }
}

/// The operation that combines two elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, TryFromBytes, IntoBytes, Immutable, Described)]
#[repr(u32)]
pub enum Operation {
    /// Their sum.
    Sum = 1,
    /// The smaller one; if one is NaN, the other.
    Min = 2,
    /// The larger one; if one is NaN, the other.
    Max = 3,
}

/// The commands of the allreduce plugin.
#[urom_command(plugin = "worker_allreduce", version = 1)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Command {
    /// Joins a group.
    #[urom(reply = Joined)]
    Join {
        /// The number of the group, the same at all members, and unique in the domain.
        group: u64,
        /// The member's own id in the domain.
        rank: u32,
        /// The number of members, 1 to 1024.
        size: u32,
        /// The member's input.
        send: MemoryRange,
        /// The buffer of the result. The plugin may write there.
        recv: MemoryRange,
    },
    /// Reduces `count` elements of all members. Every member gets the same bits. When a member
    /// fails or leaves, the call and all later calls of the group fail at all members.
    #[urom(reply = Reduced)]
    Reduce {
        /// The handle in the answer to `Join`.
        handle: u64,
        /// The number of elements.
        count: u64,
        /// The type of the elements.
        element: Element,
        /// The operation.
        operation: Operation,
        /// The offset of the elements in both buffers, in bytes.
        #[urom(optional)]
        offset: u64,
        /// Whether the input is in the buffer of the result.
        #[urom(optional)]
        in_place: bool,
    },
}

/// The answers of the allreduce plugin.
#[urom_notification]
#[derive(Debug, PartialEq)]
pub enum Notification {
    /// The member has joined.
    Joined {
        /// The handle for `Reduce`, until the host leaves.
        handle: u64,
    },
    /// The result is in its buffer.
    Reduced,
}
