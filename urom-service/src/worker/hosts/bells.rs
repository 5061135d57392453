//! Events that wake the data thread: its mailbox, and the rings' doorbells.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{Timespec, epoll};
use urom_os::EventFd;

/// One epoll descriptor for all events.
#[derive(Debug)]
pub(crate) struct Bells(OwnedFd);

/// Limit of events taken at once; others end the next sleep.
const AT_ONCE: usize = 64;

impl Bells {
    /// # Errors
    /// The system's error: out of descriptors.
    pub(crate) fn new() -> io::Result<Bells> {
        Ok(Bells(epoll::create(epoll::CreateFlags::CLOEXEC)?))
    }

    pub(crate) fn add_mailbox(&self, wake: &EventFd) -> io::Result<()> {
        Ok(epoll::add(&self.0, wake, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?)
    }

    /// Adds a ring's doorbell, edge-triggered, so that it need not be read.
    pub(super) fn add(&self, bell: &EventFd) -> io::Result<()> {
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        Ok(epoll::add(&self.0, bell, epoll::EventData::new_u64(0), flags)?)
    }

    pub(super) fn remove(&self, bell: &EventFd) {
        let _ = epoll::delete(&self.0, bell);
    }

    pub(crate) fn silence(&self) {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut events = [MaybeUninit::uninit(); AT_ONCE];
        // A signal makes this fail; then the next sleep ends at once.
        let _ = epoll::wait(&self.0, &mut events, Some(&now));
    }
}

impl AsFd for Bells {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
