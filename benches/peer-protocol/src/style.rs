//! Kinds and styles of raw UCX workers, and kinds of access to memory.

use urom_abi::Described;
use zerocopy::{Immutable, IntoBytes, TryFromBytes};

/// Peers of one kind are connected with each other.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, TryFromBytes, IntoBytes, Immutable, Described,
)]
#[repr(u8)]
pub enum Kind {
    /// Polls.
    #[default]
    Awake,
    /// Can sleep while nothing comes.
    Asleep,
    /// Polls, and can put to memory of the other end.
    Putting,
}

/// What one that serves does with requests, and the lengths of its messages.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, TryFromBytes, IntoBytes, Immutable, Described,
)]
#[repr(u8)]
pub enum Style {
    /// Replies when `ucp_worker_progress` has returned, as a C program does. Messages have the
    /// lengths of DOCA's structures.
    #[default]
    Doca,
    /// Replies inside of the callback that got the request, as the kit does. Messages have the
    /// lengths of the kit's frames.
    AtOnce,
    /// Sends a tag message to the second endpoint for each request, then replies.
    Forward,
    /// Receives tag messages, and replies to the first endpoint.
    Receive,
    /// Puts the data of messages to memory of the first endpoint.
    Put,
}

impl Style {
    /// A request.
    #[must_use]
    pub const fn request(self) -> &'static [u8] {
        match self {
            // 16 plugin bytes with the header of a frame, behind the connection's pass.
            Style::AtOnce => &[0x5a; 28],
            // 16 plugin bytes with DOCA's header of 24.
            _ => &[0x5a; 40],
        }
    }

    /// A reply.
    #[must_use]
    pub const fn reply(self) -> &'static [u8] {
        match self {
            Style::AtOnce => &[0xa5; 28],
            // 48 plugin bytes, the sandbox's, with DOCA's header of 32.
            Style::Forward => &[0xa5; 80],
            _ => &[0xa5; 48],
        }
    }
}

/// What is timed of a host's memory.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, TryFromBytes, IntoBytes, Immutable, Described,
)]
#[repr(u8)]
pub enum MemoryAccess {
    /// A read of all of it, against `memcpy` between two places of the plugin.
    #[default]
    Read,
    /// A write of all of it, against the same.
    Write,
    /// A read of all of it, against `process_vm_readv`.
    ReadOfProcess,
    /// An addition to 8 bytes, against the processor's own.
    FetchAdd,
    /// Opening and closing the memory, against nothing.
    Open,
}
