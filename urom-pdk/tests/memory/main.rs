//! A host's memory in a handler's hands, on each path, by the test kit.

mod account;
mod allocations;
mod endings;
mod paths;
mod plugin;
// Miri has no `futex_waitv`.
#[cfg(not(miri))]
mod sync_events;
