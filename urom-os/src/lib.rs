//! Facilities of the operating system and of Rust's runtime for the kit's crates.
//!
//! The crate is for the kit's own crates and may change in any version. It uses neither DOCA nor
//! UCX.

pub mod clock;
mod event_fd;
pub mod fork;
pub mod machine;
pub mod named_file;
pub mod panics;
pub mod signals;
#[doc(hidden)]
pub mod test_daemon;

pub use event_fd::EventFd;
