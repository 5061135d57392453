//! The messages between two instances.
//!
//! Messages have the receiving instance's number and the secrets of both ends, new for each export.
//! A `Hello` with wrong secrets is answered with a `Bye`.

use bytemuck::{Pod, Zeroable};
use rdma_protocol::Remote;
use urom_abi::Described;
use urom_pdk::urom_message;
use zerocopy::TryFromBytes;

#[urom_message(version = 1)]
#[derive(Clone, Copy, Debug)]
pub(crate) enum RdmaMessage<'a> {
    /// The sender has connected. Its address is the data.
    Hello {
        route: Route,
        /// The sending instance.
        sender: u64,
    },
    /// The sender is not connected, or was never connected.
    Bye {
        route: Route,
        #[urom(inline)]
        why: &'a [u8],
    },
    /// An operation, or a part of it. Its bytes are the data.
    Ask { request: PeerRequest },
    Bytes {
        route: Route,
        number: u64,
        /// The offset of the bytes in the read.
        at: u64,
    },
    Answer {
        route: Route,
        number: u64,
        /// The value before an atomic operation.
        result: u64,
        code: u32,
        #[urom(inline)]
        why: &'a [u8],
    },
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable, Described)]
pub(crate) struct Route {
    pub(crate) instance: u64,
    pub(crate) to: u64,
    pub(crate) from: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable, Described)]
pub(crate) struct PeerRequest {
    pub(crate) route: Route,
    /// The operations of an instance are numbered from 0.
    pub(crate) number: u64,
    /// A [`Kind`].
    pub(crate) kind: u32,
    pub(crate) immediate: [u8; 4],
    pub(crate) total: u64,
    pub(crate) at: u64,
    pub(crate) remote: Remote,
    pub(crate) operand: u64,
    pub(crate) compare: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, TryFromBytes)]
#[repr(u32)]
pub(crate) enum Kind {
    Send,
    SendImm,
    Write,
    WriteImm,
    Read,
    CompareSwap,
    FetchAdd,
}

impl Kind {
    pub(crate) fn of(number: u32) -> Option<Kind> {
        Kind::try_read_from_bytes(&number.to_ne_bytes()).ok()
    }

    pub(crate) fn is_send(self) -> bool {
        matches!(self, Kind::Send | Kind::SendImm)
    }

    pub(crate) fn is_atomic(self) -> bool {
        matches!(self, Kind::CompareSwap | Kind::FetchAdd)
    }

    pub(crate) fn sends(self) -> bool {
        self != Kind::Read && !self.is_atomic()
    }
}
