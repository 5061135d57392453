//! A descriptor through which one thread ends the sleep of another.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::event::{EventfdFlags, eventfd};

/// A descriptor that is readable from [`raise`](EventFd::raise) to [`lower`](EventFd::lower).
#[derive(Debug)]
pub struct EventFd(OwnedFd);

impl EventFd {
    /// A descriptor that is not readable.
    ///
    /// # Errors
    /// The operating system's: the process or the system has no more descriptors.
    pub fn new() -> io::Result<EventFd> {
        Ok(EventFd(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// Makes the descriptor readable.
    pub fn raise(&self) {
        // Fails only when the counter is full: then the descriptor is readable already.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Makes the descriptor unreadable.
    pub fn lower(&self) {
        // Fails only when it is not readable.
        let _ = rustix::io::read(&self.0, &mut [0_u8; 8]);
    }
}

impl AsFd for EventFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for EventFd {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
