//! Properties that hold for **any** bytes given to a host, a worker or a plugin, in every protocol.
//!
//! The functions of [`targets`] take a fuzzer's input and panic on a failed property; `fuzz/` wraps
//! each in a program. The tests run them on every committed input (`fuzz/corpus`), on truncated and
//! corrupted messages, and, by their parts, on arbitrary values of every message.
#![allow(missing_docs, reason = "the crate is for tests: names describe the rest")]

pub mod check;
pub mod description;
pub mod exported;
pub mod incoming;
pub mod initiator;
pub mod plugin;
pub mod subject;
pub mod targets;

pub use counting_allocator::CountingAllocator;

/// Copies `bytes` into an allocation of their length: sanitizers and Miri detect reads beyond it.
pub fn exact(bytes: &[u8]) -> Box<[u8]> {
    bytes.into()
}
