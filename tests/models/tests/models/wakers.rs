//! The word by which the wakers of a plugin's futures, on any thread, tell the executor which of them to poll. This restates
//! `Chunk::take_woken` and `SlotWaker::wake` of `urom-pdk/src/slot.rs`.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

/// The word, and what wakers have written before they woke.
struct Chunk {
    ready: AtomicU64,
    done: [UnsafeCell<bool>; 2],
}

impl Chunk {
    fn new() -> Arc<Chunk> {
        Arc::new(Chunk { ready: AtomicU64::new(0), done: [UnsafeCell::new(false), UnsafeCell::new(false)] })
    }

    fn take_woken(&self) -> u64 {
        if self.ready.load(Ordering::Relaxed) == 0 { 0 } else { self.ready.swap(0, Ordering::Acquire) }
    }

    fn wake(&self, bit: usize) {
        self.ready.fetch_or(1 << bit, Ordering::Release);
    }

    /// What the future in a slot sees that was woken. loom reports a race with whoever writes it.
    fn is_done(&self, bit: usize) -> bool {
        self.done[bit].with(|done| {
            // SAFETY: written before the wake that led here.
            unsafe { *done }
        })
    }

    fn finish(&self, bit: usize) {
        self.done[bit].with_mut(|done| {
            // SAFETY: nobody reads before the wake.
            unsafe { *done = true }
        });
        self.wake(bit);
    }
}

#[test]
fn every_wake_is_seen_once_with_what_was_written_before_it() {
    loom::model(|| {
        let chunk = Chunk::new();
        let wakers = [0, 1].map(|bit| {
            let chunk = Arc::clone(&chunk);
            thread::spawn(move || chunk.finish(bit))
        });
        let mut seen = 0;
        for _ in 0..2 {
            let woken = chunk.take_woken();
            assert_eq!(seen & woken, 0, "a wake counts once");
            (0..2).filter(|bit| woken >> bit & 1 != 0).for_each(|bit| assert!(chunk.is_done(bit)));
            seen |= woken;
        }
        wakers.into_iter().for_each(|waker| waker.join().unwrap());
        seen |= chunk.take_woken();
        assert_eq!(seen, 0b11, "a wake was lost");
    });
}
