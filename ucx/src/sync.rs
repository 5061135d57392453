//! The types that threads share. The crate `models` compiles a part of
//! [`queue_probe`](crate::queue_probe) with loom's types instead.

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
