//! Commands that use a host's memory.
#![allow(missing_docs, reason = "the crate is for tests: names describe the rest")]

use urom_abi::memory::MemoryRange;
use urom_abi::{Payload, urom_command, urom_notification};

#[urom_command(plugin = "worker_memory", version = 1)]
#[derive(Debug, Clone, Copy)]
pub enum Command<'a> {
    #[urom(reply = Looked)]
    Look { memory: MemoryRange },
    #[urom(reply = Bytes)]
    Read { memory: MemoryRange, offset: u64, len: u64 },
    #[urom(reply = Done)]
    Write {
        memory: MemoryRange,
        offset: u64,
        #[urom(inline)]
        data: &'a [u8],
    },
    #[urom(reply = Value)]
    Atomic {
        memory: MemoryRange,
        offset: u64,
        operand: u64,
        compare: u64,
        /// 0: add, 1: swap, 2: compare and swap.
        kind: u64,
    },
    #[urom(reply = Value)]
    InPlace { memory: MemoryRange, index: u64, value: u64 },
    #[urom(reply = Done)]
    Copy { from: MemoryRange, to: MemoryRange, piece: u64 },
    /// Repeats until it is cancelled or fails: 0 reads all, 1 also writes it back, 2 adds to the
    /// first number.
    #[urom(reply = Value)]
    Churn { memory: MemoryRange, kind: u64 },
    /// Number of running `Churn` commands of all hosts.
    #[urom(reply = Value)]
    Churning,
    #[urom(reply = Value)]
    Process,
    #[urom(reply = Done)]
    Keep { memory: MemoryRange, key: u64 },
    #[urom(reply = Value)]
    ReadKept { key: u64, offset: u64 },
    #[urom(reply = Done)]
    Release { key: u64 },
    /// 0: gets a counter, 1: sets it, 2: adds to it.
    #[urom(reply = Value)]
    Count { event: MemoryRange, value: u64, kind: u64 },
    /// Waits until a counter is greater than a value (0), equal (1), not equal (2).
    #[urom(reply = Value)]
    Until { event: MemoryRange, value: u64, mask: u64, kind: u64 },
    /// Runs `count` steps: each waits until `go` exceeds the number of steps done, then adds 1 to
    /// `done`.
    #[urom(reply = Value)]
    Steps { done: MemoryRange, go: MemoryRange, count: u64 },
    #[urom(reply = Value)]
    Load { memory: MemoryRange, offset: u64 },
    /// Sums all bytes, in pieces, with `times` parallel reads.
    #[urom(reply = Value)]
    Sum { memory: MemoryRange, piece: u64 },
}

#[urom_notification]
#[derive(Debug, PartialEq, Eq)]
pub enum Notification {
    Looked {
        address: u64,
        len: u64,
        access: u32,
        path: u32,
    },
    Bytes {
        #[urom(inline)]
        data: Payload,
    },
    Value {
        value: u64,
    },
    Done,
}
