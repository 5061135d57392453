//! A mailbox: how a control thread leaves messages for a data thread that polls, or sleeps on a descriptor.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::event::{EventfdFlags, eventfd};

/// Messages of type `T`, oldest first.
#[derive(Debug)]
pub(crate) struct Mailbox<T> {
    /// Whether there is a message: the one load that an idle turn pays.
    posted: AtomicBool,
    queue: Mutex<Vec<T>>,
    /// Readable while there may be a message.
    wake: OwnedFd,
}

impl<T> Mailbox<T> {
    /// An empty mailbox.
    ///
    /// # Errors
    /// The system has no descriptor left.
    pub(crate) fn new() -> io::Result<Mailbox<T>> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Mailbox { posted: AtomicBool::new(false), queue: Mutex::new(Vec::new()), wake })
    }

    /// Leaves a message and wakes whoever sleeps on the descriptor. From any thread.
    pub(crate) fn post(&self, message: T) {
        // Flag and descriptor change under the lock, here and in `take`: apart from the queue they could end up saying
        // different things, and a descriptor that stays readable for nothing lets nobody sleep.
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.push(message);
        self.posted.store(true, Ordering::Release);
        // Fails only when the counter is full: then the descriptor is readable already.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    /// Whether [`take`](Mailbox::take) would give anything.
    #[inline]
    pub(crate) fn has_post(&self) -> bool {
        self.posted.load(Ordering::Acquire)
    }

    /// Every message.
    pub(crate) fn take(&self) -> Vec<T> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        // Fails only when it is not readable.
        let _ = rustix::io::read(&self.wake, &mut [0_u8; 8]);
        self.posted.store(false, Ordering::Release);
        std::mem::take(&mut *queue)
    }
}

impl<T> AsFd for Mailbox<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    #[test]
    fn a_message_wakes_a_sleeper_on_another_thread_and_comes_out_once() {
        let mailbox = Mailbox::new().unwrap();
        assert!(!mailbox.has_post());
        std::thread::scope(|scope| {
            scope.spawn(|| mailbox.post(7));
            let limit = Timespec { tv_sec: 10, tv_nsec: 0 };
            let ready = poll(&mut [PollFd::new(&mailbox, PollFlags::IN)], Some(&limit)).unwrap();
            assert_eq!(ready, 1);
        });
        assert!(mailbox.has_post());
        assert_eq!(mailbox.take(), [7]);
        assert!(!mailbox.has_post() && mailbox.take().is_empty());
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        assert_eq!(poll(&mut [PollFd::new(&mailbox, PollFlags::IN)], Some(&none)).unwrap(), 0);
    }
}
