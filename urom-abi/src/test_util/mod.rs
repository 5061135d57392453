//! What the plugin kit's tests need (feature `test-util`): arbitrary messages, and who owns which
//! descriptor.

#[cfg(feature = "test-util")]
pub mod arbitrary;
#[doc(hidden)]
pub mod watch;
