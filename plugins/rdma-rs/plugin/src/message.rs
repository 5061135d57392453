//! The messages between two instances.
//!
//! Every message has the number of the receiving instance and the secrets of both instances. Each
//! export has one secret, so only the two ends of a connection have both. A `Hello` with other
//! secrets is answered with a `Bye`.

use bytemuck::{Pod, Zeroable};
use rdma_protocol::Remote;
use urom_abi::Described;
use urom_pdk::urom_message;
use zerocopy::TryFromBytes;

#[urom_message(version = 1)]
#[derive(Clone, Copy, Debug)]
pub(crate) enum Message<'a> {
    /// The sender has connected. Its address is the data.
    Hello {
        route: Route,
        /// The sending instance.
        sender: u64,
    },
    /// The sender is not connected any more, or never was.
    Bye {
        route: Route,
        #[urom(inline)]
        why: &'a [u8],
    },
    /// An operation, or one of the parts that it is sent in. Its bytes are the data.
    Ask { request: Request },
    /// Bytes of a read, as data.
    Bytes {
        route: Route,
        number: u64,
        /// The offset of the bytes in the read.
        at: u64,
    },
    /// The end of an operation.
    Answer {
        route: Route,
        number: u64,
        /// The value that an atomic operation found.
        result: u64,
        /// `doca_error_t`.
        code: u32,
        #[urom(inline)]
        why: &'a [u8],
    },
}

/// The receiver and the sender of a message.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable, Described)]
pub(crate) struct Route {
    /// The receiving instance.
    pub(crate) instance: u64,
    /// The secret of the receiver.
    pub(crate) to: u64,
    /// The secret of the sender.
    pub(crate) from: u64,
}

/// An operation.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable, Described)]
pub(crate) struct Request {
    pub(crate) route: Route,
    /// The operations of an instance have the numbers 0, 1, 2 and so on.
    pub(crate) number: u64,
    /// A [`Kind`].
    pub(crate) kind: u32,
    pub(crate) immediate: [u8; 4],
    /// The number of bytes of the operation.
    pub(crate) total: u64,
    /// The offset of the part in the operation, in bytes.
    pub(crate) at: u64,
    pub(crate) remote: Remote,
    /// The value to add or to swap in.
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

    /// Whether its bytes go to the memory that a receive of the other end names.
    pub(crate) fn is_send(self) -> bool {
        matches!(self, Kind::Send | Kind::SendImm)
    }

    pub(crate) fn is_atomic(self) -> bool {
        matches!(self, Kind::CompareSwap | Kind::FetchAdd)
    }

    /// Whether its bytes go to the other end.
    pub(crate) fn sends(self) -> bool {
        self != Kind::Read && !self.is_atomic()
    }
}
