//! Atomics of hand-offs between threads: the standard library's. The crate `models` compiles
//! [`woken`](crate::woken) with loom's instead, and tries every order of events.

pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
