//! A mailbox: a control thread leaves messages for a data thread, which polls or sleeps on a
//! descriptor.

use std::io;

use crate::sync::{AtomicBool, Mutex, Ordering, PoisonError, Wake};

#[derive(Debug)]
pub struct Mailbox<T> {
    /// Whether there is a message: the one load that an idle turn pays.
    posted: AtomicBool,
    queue: Mutex<Vec<T>>,
    wake: Wake,
}

impl<T> Mailbox<T> {
    /// An empty mailbox.
    ///
    /// # Errors
    /// The system has no descriptor left.
    pub fn new() -> io::Result<Mailbox<T>> {
        Ok(Mailbox {
            posted: AtomicBool::new(false),
            queue: Mutex::new(Vec::new()),
            wake: Wake::new()?,
        })
    }

    /// Leaves a message and wakes whoever sleeps on the descriptor. From any thread.
    pub fn post(&self, message: T) {
        // Flag and descriptor change under the lock, here and in `take`. Otherwise they could
        // disagree with the queue, and a descriptor that stays readable without a message keeps its
        // owner from sleeping.
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.push(message);
        self.posted.store(true, Ordering::Release);
        self.wake.raise();
    }

    #[inline]
    pub fn has_post(&self) -> bool {
        self.posted.load(Ordering::Acquire)
    }

    pub fn take(&self) -> Vec<T> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        self.wake.lower();
        self.posted.store(false, Ordering::Release);
        std::mem::take(&mut *queue)
    }

    pub fn wake(&self) -> &Wake {
        &self.wake
    }
}
