//! The events that end a sleep of the data thread: its mailbox, and the bells of hosts' rings.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{Timespec, epoll};
use urom_os::EventFd;

/// One descriptor for all of them.
#[derive(Debug)]
pub(crate) struct Bells(OwnedFd);

/// The most events that are taken at once. Others end the next sleep.
const AT_ONCE: usize = 64;

impl Bells {
    /// # Errors
    /// The system's: descriptors have run out.
    pub(crate) fn new() -> io::Result<Bells> {
        Ok(Bells(epoll::create(epoll::CreateFlags::CLOEXEC)?))
    }

    /// Adds the mailbox, which its reader empties.
    pub(crate) fn add_mailbox(&self, wake: &EventFd) -> io::Result<()> {
        Ok(epoll::add(&self.0, wake, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?)
    }

    /// Adds the bell of a host's ring. Each ring of it is an event of its own, so that nothing
    /// reads the bell, however often a host rings it.
    pub(super) fn add(&self, bell: &EventFd) -> io::Result<()> {
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        Ok(epoll::add(&self.0, bell, epoll::EventData::new_u64(0), flags)?)
    }

    /// Removes a bell. The host may still have it.
    pub(super) fn remove(&self, bell: &EventFd) {
        // Fails only for a bell that is not there.
        let _ = epoll::delete(&self.0, bell);
    }

    /// Takes the events of bells that have rung.
    pub(crate) fn silence(&self) {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut events = [MaybeUninit::uninit(); AT_ONCE];
        // Fails only when a signal comes: the next sleep ends at once, then.
        let _ = epoll::wait(&self.0, &mut events, Some(&now));
    }
}

impl AsFd for Bells {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
