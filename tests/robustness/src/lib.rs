//! What must hold for **any** bytes given to a host, a worker or a plugin, in every protocol.
//!
//! The functions of [`targets`] take what a fuzzer makes up; `fuzz/` wraps each in a program. They
//! panic when something does not hold. The tests of this crate run them on every committed input
//! (`fuzz/corpus`), on every truncation and corruption of known messages, and, by their parts, on
//! arbitrary values of every message.
#![allow(missing_docs, reason = "the crate is for tests: names say the rest")]

pub mod check;
pub mod description;
pub mod exported;
pub mod incoming;
pub mod initiator;
pub mod plugin;
pub mod subject;
pub mod targets;

pub use counting_allocator::CountingAllocator;

/// `bytes` in an allocation that ends where they end: sanitizers and Miri see who reads on.
pub fn exact(bytes: &[u8]) -> Box<[u8]> {
    bytes.into()
}
