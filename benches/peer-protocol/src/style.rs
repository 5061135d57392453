//! Kinds and styles of raw UCX workers, and kinds of access to memory.

use urom_abi::Described;
use zerocopy::{Immutable, IntoBytes, TryFromBytes};

/// Kind of a raw UCX worker. Workers of one kind are connected with each other.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, TryFromBytes, IntoBytes, Immutable, Described,
)]
#[repr(u8)]
pub enum Kind {
    /// Polls.
    #[default]
    Awake,
    /// Can sleep while idle.
    Asleep,
    /// Polls, and can put to memory of the other end.
    Putting,
}

/// Way of serving requests, with the lengths of the messages.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, TryFromBytes, IntoBytes, Immutable, Described,
)]
#[repr(u8)]
pub enum Style {
    /// Replies after `ucp_worker_progress`, as a C program does; lengths of DOCA's structures.
    #[default]
    Doca,
    /// Replies in the callback of the request, as the kit does; lengths of the kit's frames.
    AtOnce,
    /// Sends a tag message to the second endpoint for each request, then replies.
    Forward,
    /// Receives tag messages, and replies to the first endpoint.
    Receive,
    /// Puts the data of messages to memory of the first endpoint.
    Put,
}

impl Style {
    /// Returns a request.
    #[must_use]
    pub const fn request(self) -> &'static [u8] {
        match self {
            // 16 plugin bytes with a frame's header, after the connection's pass.
            Style::AtOnce => &[0x5a; 28],
            // 16 plugin bytes with DOCA's header of 24.
            _ => &[0x5a; 40],
        }
    }

    /// Returns a reply.
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

/// Timed access to a host's memory.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, TryFromBytes, IntoBytes, Immutable, Described,
)]
#[repr(u8)]
pub enum MemoryAccess {
    /// Reads all of it, against `memcpy` within the plugin.
    #[default]
    Read,
    /// Writes all of it, against `memcpy` within the plugin.
    Write,
    /// Reads all of it, against `process_vm_readv`.
    ReadOfProcess,
    /// Adds to 8 bytes, against the processor's own addition.
    FetchAdd,
    /// Opens and closes the memory, without a peer.
    Open,
}
