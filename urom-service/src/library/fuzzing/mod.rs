//! The host library's side of its connections: what a daemon and workers send to it.

mod control;
mod first;
mod frames;
mod peer;
mod strange;

pub use control::host_control;
pub use frames::host_frames;
