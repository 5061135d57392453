//! What a worker asks of a host's library over UCX, for memory that it cannot reach by itself, and
//! the answers.
//!
//! Each question is an active message to the UCX worker of the host's memory thread. It begins with
//! the ticket of the host's control stream, which nobody else knows. The host checks the range and
//! the permissions of every question again.

use bytemuck::{Pod, Zeroable};
use ucx::{Context, ContextBuilder, Features};
use urom_abi::host_memory::MemoryAction;

use crate::plain::{Plain, U32, U64, U128};

/// The handler of [`Ask`].
pub const AM_ASK: u16 = 1;

/// The handler of [`Answer`].
pub const AM_ANSWER: u16 = 2;

/// The [`number`](Answer::number) of an answer to every question before it: the host lost its
/// connection to the worker, and perhaps answers with it. No question has it.
pub const EVERY: u64 = u64::MAX;

/// The most bytes that one question moves: a longer operation asks several times. As many as fit
/// one segment of TCP, so that they come with the message and are copied once.
pub const MOST_MOVED: u64 = 240 << 10;

/// A question. For a write its bytes follow, for a send the receiver's address.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Ask {
    pub ticket: U128,
    /// Comes back with the answer.
    pub number: U64,
    pub share: U64,
    /// From the beginning of the memory on.
    pub offset: U64,
    pub len: U64,
    pub operand: U64,
    pub compare: U64,
    /// A [`MemoryAction`].
    pub action: U32,
    pub reserved: U32,
}

impl Plain for Ask {}

impl Ask {
    pub fn action(&self) -> MemoryAction {
        MemoryAction(self.action.get())
    }
}

/// An answer. For a read its bytes follow.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Answer {
    /// That of the question: other hosts of the worker do not know it.
    pub ticket: U128,
    pub number: U64,
    /// What was there before, for atomic operations.
    pub result: U64,
    /// A DOCA code.
    pub status: U32,
    pub reserved: U32,
}

impl Plain for Answer {}

/// A UCX context for both ends, and for nobody else: UCX writes behind the memory of a receiver
/// whose TCP segments are shorter than the sender's.
pub fn context() -> ContextBuilder {
    let features = Features::AM | Features::TAG | Features::WAKEUP;
    // With UCX's own 8 KiB, bulk over the loopback device is four times slower. Both ends have the
    // room for the larger pieces.
    Context::builder(features).config("TCP_TX_SEG_SIZE", "256K").config("TCP_RX_SEG_SIZE", "512K")
}
