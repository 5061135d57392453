//! The types of a wake-up; the crate `models` checks [`notifier`](super::notifier) with loom's.

pub(super) use std::sync::atomic::{AtomicBool, Ordering};

pub(super) use urom_os::EventFd;
