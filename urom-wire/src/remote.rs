//! Requests over UCX from a worker to a host's library, for memory that the worker cannot access
//! itself, and their answers. Each begins with the secret token of the host's control stream. The
//! host checks range and permissions of every request again.

use bytemuck::{Pod, Zeroable};
use ucx::{Context, ContextBuilder, Features};
use urom_abi::host_memory::MemoryAction;

use crate::plain::{Plain, U32, U64, U128};

pub const AM_ASK: u16 = 1;

pub const AM_ANSWER: u16 = 2;

/// The [`number`](Answer::number) of an answer to all earlier requests: the host lost its
/// connection to the worker, perhaps with answers. Not used by requests.
pub const EVERY: u64 = u64::MAX;

/// The most bytes of one request; a longer operation sends several. They fit in one TCP segment, so
/// that they arrive with the message and are copied once.
pub const MOST_MOVED: u64 = 240 << 10;

/// A request. A write's bytes, or the receiver's address of a send, follow.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Ask {
    pub token: U128,
    pub number: U64,
    pub share: U64,
    pub offset: U64,
    pub len: U64,
    pub operand: U64,
    pub compare: U64,
    pub action: U32,
    pub reserved: U32,
}

impl Plain for Ask {}

impl Ask {
    pub fn action(&self) -> MemoryAction {
        MemoryAction(self.action.get())
    }
}

/// An answer. A read's bytes follow.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Answer {
    /// The request's token, which the worker's other hosts do not have.
    pub token: U128,
    pub number: U64,
    /// The value before an atomic operation.
    pub result: U64,
    pub status: U32,
    pub reserved: U32,
}

impl Plain for Answer {}

/// A UCX context for these ends only: UCX overruns a receiver that has shorter TCP segments.
pub fn context() -> ContextBuilder {
    let features = Features::AM | Features::TAG | Features::WAKEUP;
    // UCX's default of 8 KiB slows bulk over loopback four times. Both ends have large buffers.
    Context::builder(features).config("TCP_TX_SEG_SIZE", "256K").config("TCP_RX_SEG_SIZE", "512K")
}
