//! The types of a wake-up. The crate `models` compiles [`notifier`](super::notifier) with loom's
//! types instead, and tries all interleavings.

pub(super) use std::sync::atomic::{AtomicBool, Ordering};

pub(super) use urom_os::EventFd;
