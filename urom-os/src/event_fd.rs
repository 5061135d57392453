//! A descriptor through which one thread ends the sleep of another.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

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

    /// The descriptor that another process sent.
    ///
    /// # Errors
    /// The operating system's.
    pub fn received(fd: OwnedFd) -> io::Result<EventFd> {
        // `raise` must not wait when the counter is full. The other process can take the flag down
        // again: it is trusted not to.
        let flags = fcntl_getfl(&fd)?;
        fcntl_setfl(&fd, flags | OFlags::NONBLOCK)?;
        Ok(EventFd(fd))
    }

    /// Another descriptor of the same counter.
    ///
    /// # Errors
    /// The operating system's: the process or the system has no more descriptors.
    pub fn try_clone(&self) -> io::Result<EventFd> {
        self.0.try_clone().map(EventFd)
    }

    /// Makes the descriptor readable.
    pub fn raise(&self) {
        // Fails only when the counter is full: then the descriptor is readable already.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Makes the descriptor unreadable. Returns whether it was readable.
    pub fn lower(&self) -> bool {
        // Fails only when it is not readable.
        rustix::io::read(&self.0, &mut [0_u8; 8]).is_ok()
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
