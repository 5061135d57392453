//! What a hand-off between threads is made of: the standard library's types. The crate `models`
//! compiles [`woken`](crate::woken) with others in their place, and tries every order of events.

pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
