//! The pool of slots: address-stable, allocated in chunks and reused. Wakers of slots may live
//! forever: waking a reused or freed slot costs at most one needless poll.

use std::future::Future;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::bell::Bell;
use crate::slot::CommandSlot;
use crate::waker::slot_waker;
use crate::woken::{SLOTS, Woken};

/// Number of slots that share one word of woken bits and are allocated together.
pub(crate) const CHUNK: usize = SLOTS as usize;

pub(crate) struct Pool<F> {
    chunks: Vec<Chunk<F>>,
    taken: usize,
    /// The free slot used last; there is always one. Most commands end at once in it.
    next: NonNull<CommandSlot<F>>,
    bell: Arc<Bell>,
}

impl<F: Future> Pool<F> {
    pub(crate) fn new(bell: Arc<Bell>) -> Pool<F> {
        let mut pool = Pool { chunks: Vec::new(), taken: 0, next: NonNull::dangling(), bell };
        pool.grow();
        pool
    }

    /// It stays free until [`take`](Self::take).
    #[inline]
    pub(crate) fn next(&self) -> &CommandSlot<F> {
        // SAFETY: it points into a chunk; slots neither move nor are freed before the pool.
        unsafe { self.next.as_ref() }
    }

    #[inline]
    pub(crate) fn take(&mut self) {
        self.taken += 1;
        match self.next().next_free().take() {
            Some(next) => self.next = next,
            None => self.grow(),
        }
    }

    #[inline]
    pub(crate) fn give_back(&mut self, index: usize) {
        let slot = self.slot(index);
        slot.next_free().set(Some(self.next));
        self.next = NonNull::from(slot);
        self.taken -= 1;
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.taken == 0
    }

    #[inline]
    pub(crate) fn slot(&self, index: usize) -> &CommandSlot<F> {
        &self.chunks[index / CHUNK].slots()[index % CHUNK]
    }

    pub(crate) fn len(&self) -> usize {
        self.chunks.len() * CHUNK
    }

    /// The only allocation of a command: when more commands are pending than ever before.
    #[cold]
    fn grow(&mut self) {
        let chunk = Chunk::new(&self.bell);
        let mut next = None;
        for slot in chunk.slots().iter().rev() {
            slot.next_free().set(next);
            next = Some(NonNull::from(slot));
        }
        self.chunks.push(chunk);
        self.next = next.unwrap_or(self.next);
    }
}

impl<F> Pool<F> {
    pub(crate) fn chunks(&self) -> &[Chunk<F>] {
        &self.chunks
    }
}

pub(crate) struct Chunk<F> {
    woken: Arc<Woken>,
    /// Never grows. Moving a `Box` would assert unique access, but futures point into the slots.
    slots: Vec<CommandSlot<F>>,
}

impl<F> Chunk<F> {
    pub(crate) fn slots(&self) -> &[CommandSlot<F>] {
        &self.slots
    }

    pub(crate) fn woken(&self) -> &Woken {
        &self.woken
    }
}

impl<F: Future> Chunk<F> {
    pub(crate) fn new(bell: &Arc<Bell>) -> Chunk<F> {
        let woken = Arc::new(Woken::new());
        let waker = |index: usize| slot_waker(&woken, 1 << index, bell);
        let slots = (0..CHUNK).map(|index| CommandSlot::new(waker(index))).collect();
        Chunk { woken, slots }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Pending;
    use std::task::Waker;

    use super::*;

    type Never = Pending<()>;

    #[test]
    fn a_waker_may_outlive_its_slot_and_every_slot_after_it() {
        let chunk = Chunk::<Never>::new(&Arc::default());
        let kept = chunk.slots()[0].waker().clone();
        kept.wake_by_ref();
        assert_eq!(chunk.woken().take(), 1);
        drop(chunk);
        kept.wake();
    }

    #[test]
    fn wakes_from_other_threads_are_all_seen() {
        let chunk = Chunk::<Never>::new(&Arc::default());
        let wakers: Vec<Waker> = chunk.slots().iter().map(|slot| slot.waker().clone()).collect();
        let threads: Vec<_> =
            wakers.into_iter().map(|w| std::thread::spawn(move || w.wake())).collect();
        for thread in threads {
            thread.join().expect("waking does not panic");
        }
        assert_eq!(chunk.woken().take(), (1 << CHUNK) - 1);
    }

    #[test]
    fn the_slot_that_was_freed_last_is_used_next_and_none_twice() {
        let mut pool = Pool::<Never>::new(Arc::default());
        let mut taken = Vec::new();
        for _ in 0..2 * CHUNK + 1 {
            let next: *const CommandSlot<Never> = pool.next();
            assert!(!taken.contains(&next));
            taken.push(next);
            pool.take();
        }
        assert_eq!(pool.len(), 3 * CHUNK);
        for index in [0, CHUNK + 3] {
            pool.give_back(index);
            assert!(std::ptr::eq(pool.next(), pool.slot(index)));
        }
    }
}
