//! A host's memory in a handler, on each path, with the test kit.

mod account;
mod allocations;
mod endings;
mod paths;
mod plugin;
// Miri lacks `futex_waitv`.
#[cfg(not(miri))]
mod sync_events;
