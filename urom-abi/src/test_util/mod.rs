//! Helpers for tests (feature `test-util`): arbitrary messages, and the owners of descriptors.

#[cfg(feature = "test-util")]
pub mod arbitrary;
#[doc(hidden)]
pub mod watch;
