//! The messages between two instances: active messages of the plugins' own UCX, little-endian.
//!
//! Every message names the instance that it is for, and the secrets of both instances. Only the two
//! ends of a connection have both, because each export has one of them. A `HELLO` with other
//! secrets is answered as well, with a `BYE`.

use bytemuck::{Pod, Zeroable};
use rdma_protocol::Remote;
use urom_pdk::DocaError;

/// The active message of [`Control`]. Its data is the sender's address in a [`Control::HELLO`], and
/// the reason in a [`Control::BYE`], as text.
pub(crate) const CONTROL: u16 = 0;
/// The active message of [`Request`]. Its data are bytes of the operation; those of a read are the
/// lengths of its places, if there are several.
pub(crate) const REQUEST: u16 = 1;
/// The active message of [`Response`]. Its data are bytes of a read, or the reason of a failure.
pub(crate) const RESPONSE: u16 = 2;

/// The longest reason that is read, in bytes.
pub(crate) const LONGEST_REASON: usize = 512;

/// Whom a message is for, and who sends it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub(crate) struct Route {
    /// The receiving instance.
    pub(crate) instance: u64,
    /// The secret of the receiver.
    pub(crate) to: u64,
    /// The secret of the sender.
    pub(crate) from: u64,
}

/// The beginning and the end of a connection.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct Control {
    pub(crate) route: Route,
    /// The sending instance, in a `HELLO`.
    pub(crate) sender: u64,
    /// What is said.
    pub(crate) word: u64,
}

impl Control {
    /// The sender has connected. The receiver answers with `WELCOME` if it has connected, too.
    pub(crate) const HELLO: u64 = 0;
    /// The answer to `HELLO`.
    pub(crate) const WELCOME: u64 = 1;
    /// The sender is connected no more, or never was.
    pub(crate) const BYE: u64 = 2;
}

/// An operation, or one of the parts that it is sent in.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct Request {
    pub(crate) route: Route,
    /// Operations of an instance are counted from 0.
    pub(crate) number: u64,
    /// A [`OperationKind`].
    pub(crate) kind: u32,
    pub(crate) immediate: [u8; 4],
    /// How many bytes the operation has.
    pub(crate) total: u64,
    /// Where the part begins, in bytes from the start of the operation.
    pub(crate) at: u64,
    pub(crate) remote: Remote,
    /// What is added or swapped in.
    pub(crate) operand: u64,
    pub(crate) compare: u64,
}

/// How an operation ended, or bytes of a read.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct Response {
    pub(crate) route: Route,
    /// The request's.
    pub(crate) number: u64,
    /// What an atomic operation found.
    pub(crate) result: u64,
    /// Where the bytes begin, from the start of the read.
    pub(crate) at: u64,
    pub(crate) code: DocaError,
    /// Whether the data are bytes of a read: 0 or 1.
    pub(crate) has_bytes: u32,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperationKind {
    Send,
    SendImm,
    Write,
    WriteImm,
    Read,
    CompareSwap,
    FetchAdd,
}

impl OperationKind {
    const ALL: [OperationKind; 7] = [
        OperationKind::Send,
        OperationKind::SendImm,
        OperationKind::Write,
        OperationKind::WriteImm,
        OperationKind::Read,
        OperationKind::CompareSwap,
        OperationKind::FetchAdd,
    ];

    pub(crate) fn of(number: u32) -> Option<OperationKind> {
        OperationKind::ALL.get(number as usize).copied()
    }

    /// Whether its bytes go to the memory that a receive of the other end names.
    pub(crate) fn is_send(self) -> bool {
        matches!(self, OperationKind::Send | OperationKind::SendImm)
    }

    /// Whether it completes a receive of the other end.
    pub(crate) fn takes_receive(self) -> bool {
        self.is_send() || self == OperationKind::WriteImm
    }

    /// Whether its bytes go to the other end.
    pub(crate) fn sends(self) -> bool {
        !(self == OperationKind::Read || self.is_atomic())
    }

    pub(crate) fn is_atomic(self) -> bool {
        matches!(self, OperationKind::CompareSwap | OperationKind::FetchAdd)
    }

    /// Its name in texts.
    pub(crate) fn name(self) -> &'static str {
        match self {
            OperationKind::Send => "send",
            OperationKind::SendImm => "send with immediate",
            OperationKind::Write => "write",
            OperationKind::WriteImm => "write with immediate",
            OperationKind::Read => "read",
            OperationKind::CompareSwap => "compare and swap",
            OperationKind::FetchAdd => "fetch and add",
        }
    }
}

pub(crate) fn read<T: Pod>(header: &[u8]) -> Option<T> {
    bytemuck::try_pod_read_unaligned(header).ok()
}

/// A reason from the other end, cut where it is too long.
pub(crate) fn reason(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST_REASON)]).into_owned()
}
