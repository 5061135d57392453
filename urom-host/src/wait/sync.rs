//! What a wake-up is made of: the standard library's types, and a descriptor that a sleeper polls.
//! The crate `models` compiles [`notifier`](super::notifier) with others in their place, and tries
//! every order of events.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
pub(super) use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{EventfdFlags, eventfd};

/// A descriptor that is readable from [`raise`](Bell::raise) to [`lower`](Bell::lower).
pub(crate) struct Bell(OwnedFd);

impl Bell {
    pub(crate) fn new() -> io::Result<Bell> {
        Ok(Bell(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    pub(crate) fn raise(&self) {
        // Fails only when the counter is full: then the descriptor is readable already.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    pub(crate) fn lower(&self) {
        // Nothing to read is the usual case.
        let _ = rustix::io::read(&self.0, &mut [0_u8; 8]);
    }
}

impl AsRawFd for Bell {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
