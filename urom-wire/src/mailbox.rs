//! A mailbox from control threads to a data thread, which polls or sleeps on a descriptor.

use std::io;
use std::ops::DerefMut;

use crate::sync::{AtomicBool, EventFd, Mutex, Ordering, PoisonError};

#[derive(Debug)]
pub struct Mailbox<T> {
    /// Whether there is a message: an idle poll costs one load.
    posted: AtomicBool,
    queue: Mutex<MailboxQueue<T>>,
    wake: EventFd,
}

#[derive(Debug)]
struct MailboxQueue<T> {
    messages: Vec<T>,
    is_closed: bool,
}

impl<T> Mailbox<T> {
    pub fn new() -> io::Result<Mailbox<T>> {
        Ok(Mailbox {
            posted: AtomicBool::new(false),
            queue: Mutex::new(MailboxQueue { messages: Vec::new(), is_closed: false }),
            wake: EventFd::new()?,
        })
    }

    fn lock(&self) -> impl DerefMut<Target = MailboxQueue<T>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Posts a message and wakes the data thread. From any thread. A closed mailbox drops it.
    pub fn post(&self, message: T) {
        // Flag and descriptor change under the lock, here and in `take`. Else they could disagree
        // with the queue, and a readable descriptor without a message keeps its owner awake.
        let mut queue = self.lock();
        if queue.is_closed {
            // Not under the lock: the drop of a message may post another.
            drop(queue);
            return drop(message);
        }
        queue.messages.push(message);
        self.posted.store(true, Ordering::Release);
        self.wake.raise();
    }

    #[inline]
    pub fn has_post(&self) -> bool {
        self.posted.load(Ordering::Acquire)
    }

    pub fn take(&self) -> Vec<T> {
        let mut queue = self.lock();
        self.wake.lower();
        self.posted.store(false, Ordering::Release);
        std::mem::take(&mut queue.messages)
    }

    pub fn close(&self) {
        self.lock().is_closed = true;
        drop(self.take());
    }

    pub fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    pub fn wake(&self) -> &EventFd {
        &self.wake
    }
}
